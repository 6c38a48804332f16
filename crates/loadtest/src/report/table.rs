//! A table, written as Markdown and as HTML.

use std::fmt::Write as _;

use super::number::NONE;
use super::text;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// What it shows.
    pub(super) title: String,
    /// How it is to be read; plain text, without anything from results.
    pub(super) note: String,
    /// The columns' names.
    pub(super) head: Vec<String>,
    /// How many columns from the left are text; the others are numbers and go to the right.
    pub(super) text_columns: usize,
    /// The rows, each as long as the head.
    pub(super) rows: Vec<Vec<Cell>>,
    /// Whether the page shows it only when it is opened.
    pub(super) folded: bool,
}

/// A cell. Its text is escaped when it is written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Cell {
    /// What stands in it.
    pub(super) text: String,
    /// What it means.
    pub(super) tone: Tone,
}

/// What a cell means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Tone {
    /// A figure.
    #[default]
    Plain,
    /// Better, or held.
    Good,
    /// Worse, or broken.
    Bad,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, tone: Tone::Plain }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// A cell that is good or bad news.
    pub(super) fn judged(text: String, good: bool) -> Self {
        Self { text, tone: if good { Tone::Good } else { Tone::Bad } }
    }
}

impl Table {
    /// A table without rows, its first column text.
    pub(super) fn new(title: &str, head: &[&str]) -> Self {
        Self {
            title: title.to_owned(),
            head: head.iter().map(|&name| name.to_owned()).collect(),
            text_columns: 1,
            ..Self::default()
        }
    }

    /// The same without number columns in which nothing was measured; none where there are no rows.
    pub(super) fn finished(mut self) -> Option<Self> {
        if self.rows.is_empty() {
            return None;
        }
        let kept: Vec<bool> = (0..self.head.len())
            .map(|column| {
                column < self.text_columns
                    || self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.text != NONE))
            })
            .collect();
        keep(&mut self.head, &kept);
        for row in &mut self.rows {
            keep(row, &kept);
        }
        Some(self)
    }

    /// As Markdown, under a heading of the third level.
    pub(super) fn write_markdown(&self, page: &mut String) {
        let _ = write!(page, "### {}\n\n", text::markdown(&self.title));
        if !self.note.is_empty() {
            let _ = write!(page, "{}\n\n", self.note);
        }
        for name in &self.head {
            let _ = write!(page, "| {} ", text::markdown(name));
        }
        page.push_str("|\n");
        for column in 0..self.head.len() {
            page.push_str(if column < self.text_columns { "|---" } else { "|--:" });
        }
        page.push_str("|\n");
        for row in &self.rows {
            for cell in row {
                let strong = if cell.tone == Tone::Bad { "**" } else { "" };
                let _ = write!(page, "| {strong}{}{strong} ", text::markdown(&cell.text));
            }
            page.push_str("|\n");
        }
        page.push('\n');
    }

    /// As HTML.
    pub(super) fn write_html(&self, page: &mut String) {
        let title = text::html(&self.title);
        let (open, close) = if self.folded {
            (format!("<details class=\"table\"><summary>{title}</summary>"), "</details>")
        } else {
            (format!("<div class=\"table\"><h3>{title}</h3>"), "</div>")
        };
        page.push_str(&open);
        if !self.note.is_empty() {
            let _ = write!(page, "<p class=\"note\">{}</p>", text::html(&self.note));
        }
        let _ = write!(
            page,
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{title}\"><table><thead><tr>"
        );
        for (column, name) in self.head.iter().enumerate() {
            let _ = write!(page, "<th scope=\"col\"{}>{}</th>", self.side(column), text::html(name));
        }
        page.push_str("</tr></thead>\n<tbody>");
        for row in &self.rows {
            page.push_str("<tr>");
            for (column, cell) in row.iter().enumerate() {
                self.write_cell(page, column, cell);
            }
            page.push_str("</tr>\n");
        }
        let _ = writeln!(page, "</tbody></table></div>{close}");
    }

    fn write_cell(&self, page: &mut String, column: usize, cell: &Cell) {
        let tone = match cell.tone {
            Tone::Plain => self.side(column),
            Tone::Good => " class=\"good\"",
            Tone::Bad => " class=\"bad\"",
        };
        let content = text::html(&cell.text);
        let _ = match column {
            0 => write!(page, "<th scope=\"row\" class=\"text\">{content}</th>"),
            _ => write!(page, "<td{tone}>{content}</td>"),
        };
    }

    fn side(&self, column: usize) -> &'static str {
        if column < self.text_columns { " class=\"text\"" } else { "" }
    }
}

fn keep<T>(values: &mut Vec<T>, kept: &[bool]) {
    let mut flags = kept.iter();
    values.retain(|_| flags.next().copied().unwrap_or(true));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new("Title", &["Run", "Rate", "Shards"]);
        table.rows = vec![
            vec!["a|b".into(), "1".into(), NONE.into()],
            vec!["<i>".into(), Cell::judged("2".to_owned(), false), NONE.into()],
        ];
        table
    }

    #[test]
    fn a_column_without_figures_is_left_out() {
        let table = table().finished().unwrap();
        assert_eq!(table.head, ["Run", "Rate"]);
        assert!(table.rows.iter().all(|row| row.len() == 2));
        assert_eq!(Table::new("Empty", &["Run"]).finished(), None);
    }

    #[test]
    fn both_forms_say_the_same_and_escape() {
        let (mut markdown, mut html) = (String::new(), String::new());
        let table = table().finished().unwrap();
        table.write_markdown(&mut markdown);
        table.write_html(&mut html);
        assert_eq!(
            markdown,
            "### Title\n\n| Run | Rate |\n|---|--:|\n| a\\|b | 1 |\n| &lt;i&gt; | **2** |\n\n"
        );
        assert!(
            html.contains("<th scope=\"row\" class=\"text\">&lt;i&gt;</th><td class=\"bad\">2</td>"),
            "{html}"
        );
    }
}
