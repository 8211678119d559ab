"""Tuning strategies; their names stand here, known before any of them is loaded."""

LLM_SEARCH = "llm_search"
PLACES = {
    "autonomous": "tui_tuner.strategies.autonomous:AutonomousStrategy",
    "explicit": "tui_tuner.strategies.explicit:ExplicitStrategy",
    "one_prompt": "tui_tuner.strategies.single_step:OnePromptStrategy",
    LLM_SEARCH: "tui_tuner.strategies.single_step:LlmSearchStrategy",
    "search": "tui_tuner.strategies.single_step:SearchStrategy",
}
"""The strategies that the program brings, the default first; each class as `module:name`."""
