//! The login form in a page, as a browser would find it. Only what such pages are made of is understood: forms,
//! and inputs with quoted attributes.

/// A form that asks for a password.
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
        let forms = page.split("<form").skip(1).filter_map(|rest| rest.split_once("</form"));
        forms.map(|(form, _)| form).find_map(Self::read)
    }

    fn read(form: &str) -> Option<Self> {
        let mut inputs = form.split("<input");
        let action = attribute(inputs.next()?, "action");
        let (mut hidden, mut username, mut password) = (Vec::new(), None, None);
        for input in inputs {
            let Some(name) = attribute(input, "name") else { continue };
            match attribute(input, "type").as_deref() {
                Some("hidden") => hidden.push((name, attribute(input, "value").unwrap_or_default())),
                Some("password") => password = Some(name),
                None | Some("text" | "email") => username = username.or(Some(name)),
                Some(_) => {}
            }
        }
        Some(Self { action, hidden, username: username?, password: password? })
    }
}

/// The value of an attribute of the tag that `rest` begins in.
fn attribute(rest: &str, name: &str) -> Option<String> {
    let (tag, _) = rest.split_once('>')?;
    let (_, value) = tag.split_once(&format!(" {name}=\""))?;
    let (value, _) = value.split_once('"')?;
    Some(unescaped(value))
}

/// What stands for the five characters that are escaped in attributes (HTML 13.1.4).
fn unescaped(value: &str) -> String {
    const ENTITIES: [(&str, &str); 9] = [
        ("&lt;", "<"),
        ("&#60;", "<"),
        ("&gt;", ">"),
        ("&#62;", ">"),
        ("&quot;", "\""),
        ("&#34;", "\""),
        ("&#39;", "'"),
        // The last ones, or what they leave would be unescaped again.
        ("&amp;", "&"),
        ("&#38;", "&"),
    ];
    if !value.contains('&') {
        return value.to_owned();
    }
    ENTITIES.iter().fold(value.to_owned(), |text, (entity, character)| text.replace(entity, character))
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
}
