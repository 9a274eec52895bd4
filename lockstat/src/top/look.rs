//! [`Look`]: colours, where there are any.

use ratatui::style::{Color, Modifier, Style};

/// How things look. Where there are no colours all is told apart without.
#[derive(Clone, Copy)]
pub(super) struct Look {
    pub(super) has_colour: bool,
}

impl Look {
    fn coloured(self, style: Style, colour: Color) -> Style {
        if self.has_colour {
            style.fg(colour)
        } else {
            style
        }
    }

    pub(super) fn head(self) -> Style {
        self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Cyan)
    }

    /// What somebody should look at.
    pub(super) fn warning(self) -> Style {
        self.coloured(Style::new().add_modifier(Modifier::BOLD), Color::Yellow)
    }
}
