"""Tuning strategies, one a file; their names stand here, known before any of them is loaded."""

LLM_SEARCH = "llm_search"
PLACES = {
    "autonomous": "tui_tuner.strategies.autonomous:AutonomousStrategy",
    "explicit": "tui_tuner.strategies.explicit:ExplicitStrategy",
    "one_prompt": "tui_tuner.strategies.model_strategy:OnePromptStrategy",
    LLM_SEARCH: "tui_tuner.strategies.search:LlmSearchStrategy",
    "search": "tui_tuner.strategies.search:SearchStrategy",
}
"""Those that the program brings, the default first; each class as `module:name`."""
