//! Colours and sizes, the same everywhere.

use eframe::egui::style::{HandleShape, Selection, WidgetVisuals};
use eframe::egui::{
    self, Color32, CornerRadius, FontFamily, FontId, Margin, Shadow, Stroke, TextStyle, vec2,
};

/// Behind everything.
pub const GROUND: Color32 = Color32::from_rgb(0x0d, 0x10, 0x16);
/// Panels.
pub const PANEL: Color32 = Color32::from_rgb(0x15, 0x19, 0x21);
/// Cards and plots on a panel.
pub const CARD: Color32 = Color32::from_rgb(0x1b, 0x20, 0x2a);
/// Buttons.
pub const CONTROL: Color32 = Color32::from_rgb(0x27, 0x2e, 0x3b);
/// Buttons under the mouse.
pub const CONTROL_HOVERED: Color32 = Color32::from_rgb(0x33, 0x3c, 0x4d);
/// Thin lines between parts.
pub const LINE: Color32 = Color32::from_rgb(0x2a, 0x31, 0x3e);
/// Text.
pub const TEXT: Color32 = Color32::from_rgb(0xd5, 0xdb, 0xe6);
/// Text of less importance.
pub const FAINT: Color32 = Color32::from_rgb(0x8d, 0x97, 0xa9);
/// Text of more importance.
pub const STRONG: Color32 = Color32::from_rgb(0xff, 0xff, 0xff);
/// The selection, and what matters most.
pub const ACCENT: Color32 = Color32::from_rgb(0x9d, 0x7b, 0xff);
/// The background of the selection.
pub const ACCENT_DARK: Color32 = Color32::from_rgb(0x4a, 0x3a, 0x86);
/// Errors.
pub const WRONG: Color32 = Color32::from_rgb(0xff, 0x5d, 0x5d);
/// Warnings.
pub const WARNING: Color32 = Color32::from_rgb(0xff, 0xc6, 0x4d);
/// The authoritative state, drawn over what a player sees.
pub const GHOST: Color32 = Color32::from_rgb(0xf2, 0xf4, 0xf8);

/// The colours of the players, in their order.
const PLAYERS: [Color32; 8] = [
    Color32::from_rgb(0x45, 0xb4, 0xf5),
    Color32::from_rgb(0xff, 0xa9, 0x2b),
    Color32::from_rgb(0x62, 0xd6, 0x83),
    Color32::from_rgb(0xff, 0x6a, 0x95),
    Color32::from_rgb(0xe8, 0xe0, 0x5a),
    Color32::from_rgb(0xb4, 0x8c, 0xff),
    Color32::from_rgb(0x3f, 0xd9, 0xd0),
    Color32::from_rgb(0xd9, 0x8a, 0x5f),
];

/// A player's colour, wherever it is shown. Players count from 0.
pub fn player_colour(player: usize) -> Color32 {
    PLAYERS[player % PLAYERS.len()]
}

/// A player's name. Players count from 0 here and from 1 on the screen.
pub fn player_name(player: usize) -> String {
    format!("Player {}", player + 1)
}

/// Has everything drawn in these colours.
pub fn apply(ctx: &egui::Context) {
    ctx.set_theme(egui::Theme::Dark);
    ctx.all_styles_mut(|style| {
        style.visuals = visuals();
        style.text_styles = text_styles();
        style.spacing.item_spacing = vec2(8.0, 6.0);
        style.spacing.button_padding = vec2(8.0, 3.0);
        style.spacing.interact_size = vec2(32.0, 22.0);
        style.spacing.slider_rail_height = 4.0;
        style.spacing.window_margin = Margin::same(14);
        style.spacing.menu_margin = Margin::same(6);
        style.spacing.combo_width = 60.0;
        style.interaction.tooltip_delay = 0.25;
        style.interaction.selectable_labels = false;
    });
}

fn text_styles() -> std::collections::BTreeMap<TextStyle, FontId> {
    let sizes = [
        (TextStyle::Small, 11.0, FontFamily::Proportional),
        (TextStyle::Body, 13.5, FontFamily::Proportional),
        (TextStyle::Button, 13.5, FontFamily::Proportional),
        (TextStyle::Heading, 18.0, FontFamily::Proportional),
        (TextStyle::Monospace, 12.0, FontFamily::Monospace),
    ];
    let sizes = sizes.map(|(style, size, family)| (style, FontId::new(size, family)));
    sizes.into_iter().collect()
}

fn visuals() -> egui::Visuals {
    let mut visuals = egui::Visuals::dark();
    visuals.panel_fill = PANEL;
    visuals.window_fill = CARD;
    visuals.window_stroke = Stroke::new(1.0, LINE);
    visuals.window_corner_radius = CornerRadius::same(8);
    visuals.menu_corner_radius = CornerRadius::same(6);
    visuals.extreme_bg_color = GROUND;
    visuals.text_edit_bg_color = Some(GROUND);
    visuals.faint_bg_color = CARD;
    visuals.code_bg_color = GROUND;
    visuals.hyperlink_color = ACCENT;
    visuals.warn_fg_color = WARNING;
    visuals.error_fg_color = WRONG;
    visuals.weak_text_color = Some(FAINT);
    visuals.slider_trailing_fill = true;
    visuals.handle_shape = HandleShape::Circle;
    visuals.selection = Selection {
        bg_fill: ACCENT_DARK,
        stroke: Stroke::new(1.0, STRONG),
    };
    visuals.popup_shadow = Shadow {
        offset: [0, 4],
        blur: 12,
        spread: 0,
        color: Color32::from_black_alpha(120),
    };
    visuals.window_shadow = visuals.popup_shadow;
    let widgets = &mut visuals.widgets;
    widgets.noninteractive = look(PANEL, LINE, TEXT);
    widgets.inactive = look(CONTROL, Color32::TRANSPARENT, TEXT);
    widgets.hovered = look(CONTROL_HOVERED, ACCENT, STRONG);
    widgets.active = look(ACCENT_DARK, ACCENT, STRONG);
    widgets.open = look(CONTROL_HOVERED, LINE, STRONG);
    visuals
}

fn look(fill: Color32, edge: Color32, words: Color32) -> WidgetVisuals {
    WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1.0, edge),
        corner_radius: CornerRadius::same(5),
        fg_stroke: Stroke::new(1.0, words),
        expansion: 0.0,
    }
}

/// A slider of the given width, without its number, with a small knob.
pub fn slider(
    ui: &mut egui::Ui,
    width: f32,
    slider: egui::Slider<'_>,
    name: &str,
) -> egui::Response {
    let height = ui.text_style_height(&TextStyle::Body);
    let spacing = ui.spacing_mut();
    let before = (spacing.slider_width, spacing.interact_size.y);
    (spacing.slider_width, spacing.interact_size.y) = (width, height);
    let response = ui.add(slider.show_value(false));
    let spacing = ui.spacing_mut();
    (spacing.slider_width, spacing.interact_size.y) = before;
    named(response, name)
}

/// Gives something a name for those who cannot see it, and for tests.
pub fn named(response: egui::Response, name: &str) -> egui::Response {
    let name_it = |node: &mut egui::accesskit::Node| node.set_label(name);
    response.ctx.accesskit_node_builder(response.id, name_it);
    response
}

/// The heading of a part of a panel.
pub fn section(ui: &mut egui::Ui, title: &str) {
    ui.add_space(5.0);
    ui.horizontal(|ui| {
        let words = egui::RichText::new(title.to_uppercase()).size(10.5);
        ui.label(words.strong().color(FAINT));
        let (rect, _) =
            ui.allocate_exact_size(vec2(ui.available_width(), 1.0), egui::Sense::hover());
        ui.painter().rect_filled(rect, 0.0, LINE);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_players_are_told_apart_and_stand_out_from_the_ground() {
        let far = |one: Color32, other: Color32| {
            let squares = (0..3).map(|at| (f32::from(one[at]) - f32::from(other[at])).powi(2));
            squares.sum::<f32>().sqrt()
        };
        for one in 0..4 {
            assert!(far(player_colour(one), GROUND) > 200.0);
            assert!(far(player_colour(one), ACCENT) > 80.0);
            for other in 0..one {
                assert!(far(player_colour(one), player_colour(other)) > 100.0);
            }
        }
    }
}
