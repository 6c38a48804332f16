//! The forms of a page, as a browser without scripts would find them.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

/// A form of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// Its `id`; empty without one.
    pub(crate) id: String,
    /// Its `name`; empty without one.
    pub(crate) name: String,
    /// Where it goes; the page's own address where it does not say.
    pub(crate) action: Option<String>,
    /// Whether it is sent by POST; otherwise its fields go into the query.
    pub(crate) is_post: bool,
    /// Its inputs with a name that would be sent, in their order. Buttons are none.
    pub(crate) fields: Vec<FormField>,
}

/// An input of a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FormField {
    /// Its name.
    pub(crate) name: String,
    /// Its value as the page has it.
    pub(crate) value: String,
    /// Its `type` in small letters; `text` where it does not say.
    pub(crate) kind: String,
}

impl FormField {
    fn read(tag: &StartTag<()>) -> Option<Self> {
        let name = attribute(tag, "name").filter(|name| !name.is_empty())?;
        if attribute(tag, "disabled").is_some() {
            return None;
        }
        let kind = attribute(tag, "type").map_or_else(|| "text".to_owned(), |kind| kind.to_ascii_lowercase());
        let value = attribute(tag, "value");
        match &*kind {
            "submit" | "button" | "image" | "reset" | "file" => None,
            // Only what is ticked is sent, as `on` unless it says otherwise (HTML 4.10.5.1.15).
            "checkbox" | "radio" => {
                attribute(tag, "checked")?;
                Some(Self { name, value: value.unwrap_or_else(|| "on".into()), kind })
            }
            _ => Some(Self { name, value: value.unwrap_or_default(), kind }),
        }
    }
}

/// The forms of a page, in their order. What scripts would make of the page is not seen.
pub(crate) fn forms(page: &str) -> Vec<Form> {
    let mut emitter = DefaultEmitter::default();
    // What stands inside of scripts and text areas is no tag.
    emitter.naively_switch_states(true);
    let (mut forms, mut is_open) = (Vec::<Form>::new(), false);
    for token in Tokenizer::new_with_emitter(page, emitter) {
        let Ok(token) = token;
        match token {
            // A form inside of another one is none (HTML 13.2.6.4.7).
            Token::StartTag(tag) if is(&tag.name, "form") && !is_open => {
                is_open = true;
                forms.push(Form {
                    id: attribute(&tag, "id").unwrap_or_default(),
                    name: attribute(&tag, "name").unwrap_or_default(),
                    action: attribute(&tag, "action"),
                    is_post: attribute(&tag, "method")
                        .is_some_and(|method| method.eq_ignore_ascii_case("post")),
                    fields: Vec::new(),
                });
            }
            Token::EndTag(tag) if is(&tag.name, "form") => is_open = false,
            Token::StartTag(tag) if is(&tag.name, "input") && is_open => {
                if let Some(form) = forms.last_mut() {
                    form.fields.extend(FormField::read(&tag));
                }
            }
            _ => {}
        }
    }
    forms
}

fn is(name: &HtmlString, expected: &str) -> bool {
    name.as_slice() == expected.as_bytes()
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// A form that asks for a user's name and a password.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LoginForm {
    /// Where it goes; the page's own address where it does not say.
    pub(super) action: Option<String>,
    /// Hidden fields, CSRF token among them, by name and value.
    pub(super) hidden: Vec<(String, String)>,
    /// The name of the field for the user's name.
    pub(super) username: String,
    /// The name of the field for the password.
    pub(super) password: String,
}

impl LoginForm {
    /// The first one of the page.
    pub(super) fn find(page: &str) -> Option<Self> {
        forms(page).into_iter().find_map(Self::of)
    }

    fn of(form: Form) -> Option<Self> {
        let (mut hidden, mut username, mut password) = (Vec::new(), None, None);
        for FormField { name, value, kind } in form.fields {
            match &*kind {
                "hidden" => hidden.push((name, value)),
                "password" => password = Some(name),
                "text" | "email" => username = username.or(Some(name)),
                _ => {}
            }
        }
        Some(Self { action: form.action, hidden, username: username?, password: password? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_with_the_password_is_found() {
        let page = r#"<form action="/search"><input name="q" type="text"></form>
            <form class="x" method="post" action="/login?a=1&amp;b=2">
            <input type="hidden" name="csrf_token" value="t&#38;&quot;1">
            <input id="username" name="username" type="text" value="">
            <input name="remember" type="checkbox">
            <input id="password" name="password" type="password"></form>"#;
        let form = LoginForm::find(page).unwrap();
        assert_eq!(form.action.as_deref(), Some("/login?a=1&b=2"));
        assert_eq!(form.hidden, [("csrf_token".to_owned(), "t&\"1".to_owned())]);
        assert_eq!((&*form.username, &*form.password), ("username", "password"));
    }

    #[test]
    fn other_pages_have_none() {
        for page in ["", "<form>", r#"<form><input name="password" type="password"></form>"#, "<form</form"] {
            assert_eq!(LoginForm::find(page), None, "{page}");
        }
    }

    #[test]
    fn forms_are_read_as_a_browser_does() {
        let page = r#"<script>document.write("<form id=no>")</script>
            <!-- <form id="commented"> -->
            <FORM ID=first METHOD=Post action='/a'>
              <input name=plain value=bare><input type=HIDDEN name=h value='a"b'>
              <input name=ticked type=checkbox checked><input name=not type=checkbox>
              <input type=radio name=pick value=1><input type=radio name=pick value=2 checked>
              <input type=submit name=go value=Go><input value=nameless><input name=off disabled>
            </FORM>
            <input name="outside">
            <form name="second"></form>"#;
        let [first, second] = &forms(page)[..] else { panic!("two forms: {:?}", forms(page)) };
        let fields: Vec<_> = first.fields.iter().map(|field| (&*field.name, &*field.value)).collect();
        assert_eq!(fields, [("plain", "bare"), ("h", "a\"b"), ("ticked", "on"), ("pick", "2")]);
        assert_eq!((&*first.id, first.action.as_deref(), first.is_post), ("first", Some("/a"), true));
        assert_eq!((&*second.name, &second.action, second.is_post), ("second", &None, false));
        assert_eq!(first.fields[1].kind, "hidden");
    }
}
