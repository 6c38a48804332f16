//! What the build refuses in a file of texts, and the plural forms of each language.

#[path = "../../build/catalogue.rs"]
mod catalogue;

use crate::Language;
use catalogue::Catalogue;

/// What the build says of a file in this language beside an English one.
fn mistakes(language: &str, english: &str, source: &str) -> Vec<String> {
    let (english, wrong) = Catalogue::read("en", "en.ftl", english);
    assert!(wrong.is_empty(), "{wrong:?}");
    let (catalogue, mut found) = Catalogue::read(language, "x.ftl", source);
    found.extend(catalogue.differences(&english));
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn the_build_names_what_lacks_what_is_unknown_and_what_differs() {
    let english = "title = Allow { $client }?\nname = Name\n";
    assert!(mistakes("de", english, "title = { $client } erlauben?\nname = Name\n").is_empty());
    for (source, told) in [
        ("name = Name\n", "x.ftl:1: title lacks"),
        ("# 1\nname = Name\nnmae = Name\ntitle = { $client }\n", "x.ftl:3: nmae is unknown"),
        ("name = Name\ntitle = Erlauben?\n", "x.ftl:2: title is a text without a variable, in English"),
        ("name = Name\ntitle = { $user }?\n", "x.ftl:2: title is a text with the variable $user, in English"),
        ("name = Name\nname = Name\ntitle = { $client }\n", "x.ftl:2: name: the key occurs twice"),
        ("name = Name\ntitle = { $client } { $client }\n", "x.ftl:2: title: there is more than one variable"),
        (
            "name = Name\n    .hint = Hint\ntitle = { $client }\n",
            "x.ftl:1: name: the pages use no attributes",
        ),
        ("name = { -brand }\ntitle = { $client }\n", "x.ftl:1: name: only a variable or a text"),
        ("name = { \"\" }\ntitle = { $client }\n", "x.ftl:1: name: the text is empty"),
        ("title = { $client }\n-brand = Ours\nname = Name\n", "x.ftl:2: -brand: the pages use no terms"),
        ("title = { $client }\nname = { \n", "x.ftl:3: not Fluent's format"),
    ] {
        let found = mistakes("de", english, source);
        assert!(found.iter().any(|mistake| mistake.starts_with(told)), "{source:?}: {found:?}");
    }
}

#[test]
fn the_build_wants_the_plural_forms_that_the_language_has() {
    let english = "days = { $n ->\n    [one] { $n } day\n   *[other] { $n } days\n}\n";
    let only_other = "days = { $n ->\n   *[other] { $n }\n}\n";
    assert!(mistakes("ja", english, only_other).is_empty());
    assert_eq!(mistakes("de", english, only_other)[0], "x.ftl:1: days: the form one lacks, which de has");
    assert_eq!(mistakes("ja", english, english), ["x.ftl:1: days: the form one is never used in ja"]);
    assert!(mistakes("ar", english, english)[0].contains("the form few lacks"));
    let number = "days = { $n ->\n    [1] ein Tag\n   *[other] { $n } Tage\n}\n";
    assert!(mistakes("de", english, number)[0].contains("not a number"));
}

#[test]
fn numbers_take_the_form_of_each_language() {
    let seconds = |language: Language| [1, 2, 3, 11, 100].map(|number| language.texts().seconds.with(number));
    assert_eq!(
        seconds(Language::English),
        ["1 second", "2 seconds", "3 seconds", "11 seconds", "100 seconds"]
    );
    assert_eq!(seconds(Language::German)[..2], ["1 Sekunde", "2 Sekunden"]);
    assert_eq!(seconds(Language::Spanish)[..2], ["1 segundo", "2 segundos"]);
    assert_eq!(seconds(Language::French)[..2], ["1 seconde", "2 secondes"]);
    assert_eq!(seconds(Language::Japanese)[..2], ["1 秒", "2 秒"]);
    assert_eq!(seconds(Language::Arabic), ["ثانية واحدة", "ثانيتين", "3 ثوانٍ", "11 ثانية", "100 ثانية"]);
    assert_eq!(Language::French.texts().minutes.with(0), "0 minute");
}

#[test]
fn no_language_has_a_text_of_another() {
    let english = Language::English.texts().entries();
    for language in Language::ALL.into_iter().skip(1) {
        let same = language.texts().entries().into_iter().zip(&english).filter(|(one, other)| one == *other);
        let same: Vec<_> = same.map(|((name, _), _)| name).collect();
        // Words of these languages too: "Code", "Error", "minutes", "Name", "Passkeys", "No", "Sessions", "Applications".
        let shared = [
            "second_factor_code",
            "error_code",
            "minutes",
            "security_passkeys",
            "security_passkey_name",
            "profile_no",
            "detail_no",
            "account_nav_sessions",
            "account_nav_applications",
        ];
        assert!(same.iter().all(|name| shared.contains(name)), "{same:?}");
    }
}
