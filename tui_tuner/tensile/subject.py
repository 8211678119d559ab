"""What joins Tensile to the program: its parts by name, none of which is loaded before it is used."""

from __future__ import annotations

from tui_tuner.subjects import Command, ResumeOption, Subject

TENSILE = Subject(
    name="tensile",
    screen="tui_tuner.tensile.screen:TensileView",
    story="tui_tuner.tensile.story:TensileStory",
    resume="tui_tuner.tensile.sessions:resumed_tensile_session",
    replay="tui_tuner.tensile.sessions:replayed_tensile_session",
    title="a Tensile configuration",
    suffixes=(".yaml", ".yml"),
    settings="tui_tuner.tensile.options:TensileOptions",
    options="tui_tuner.tensile.option_table:TENSILE_OPTIONS",
    findings="tui_tuner.tensile.sessions:findings",
    events="tui_tuner.tensile.events:EVENTS",
    commands=(
        Command(
            "tensile",
            "A language model edits a Tensile benchmark configuration; Tensile measures, round by round.",
            "tui_tuner.tensile.command:add_tensile",
        ),
    ),
    resume_options=(ResumeOption("tensile", "PATH", "where Tensile is now, for a run that it measures"),),
)
