//! What comments in statements tell of the application: where a statement stands in its code, and for which request it was sent.
//!
//! ```text
//!   /*file='shop/views.py',line='12',route='/buy',traceparent='00-4bf92f35…-00f067aa-01'*/          sqlcommenter: values are URL-encoded
//!   /*application:Shop,controller:carts,action:buy,line:app/models/cart.rb:12:in `buy'*/            as Rails has it
//! ```
//!
//! Other comments say nothing. What is said twice counts as it was said first.

/// What the comments of a statement say.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct StatementOrigin {
    /// A file of the application, and a line there.
    pub(super) place: Option<(String, u32)>,
    /// The request, by a name that no other one has.
    pub(super) request: Option<String>,
    /// What the request is for: its route, or who handles it.
    pub(super) route: Option<String>,
}

impl StatementOrigin {
    /// What some comments say, without their marks.
    pub(super) fn of<'a>(comments: impl IntoIterator<Item = &'a str>) -> StatementOrigin {
        let tags: Vec<(String, String)> = comments.into_iter().flat_map(tags).collect();
        let tag = |names: &[&str]| {
            let found = |name: &&str| tags.iter().find(|(key, value)| key == name && !value.is_empty());
            names.iter().find_map(found).map(|(_, value)| value.clone())
        };
        let request = tag(&["traceparent"]).and_then(|parent| parent.split('-').nth(1).map(str::to_owned));
        let handler = tag(&["controller"]).map(|controller| match tag(&["action"]) {
            Some(action) => format!("{controller}#{action}"),
            None => controller,
        });
        StatementOrigin {
            place: place(&tag),
            request: request.or_else(|| tag(&["request_id", "request-id", "requestid"])),
            route: tag(&["route"]).or(handler).or_else(|| tag(&["action"])),
        }
    }
}

/// The file and the line: two tags, or one with both.
fn place(tag: &dyn Fn(&[&str]) -> Option<String>) -> Option<(String, u32)> {
    let file = tag(&["file", "code.filepath", "code_filepath"]);
    let line = tag(&["line", "lineno", "code.lineno", "code_lineno"]);
    if let (Some(file), Some(Ok(line))) = (&file, line.as_ref().map(|line| line.parse())) {
        return Some((file.clone(), line));
    }
    let both = [file, line, tag(&["source_location", "source", "caller"])];
    both.into_iter().flatten().find_map(|text| file_and_line(&text))
}

/// `app/models/cart.rb:12`, and whatever stands behind it.
fn file_and_line(text: &str) -> Option<(String, u32)> {
    let ends = text.match_indices(':').map(|(at, _)| at);
    ends.filter(|at| *at > 0).find_map(|at| {
        let number: String = text[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        let after = &text[at + 1 + number.len()..];
        let line = number.parse().ok().filter(|_| after.is_empty() || after.starts_with(':'))?;
        Some((text[..at].to_owned(), line))
    })
}

/// `key='value'` and `key:value`, between commas.
fn tags(comment: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = comment.trim();
    while let Some(end) = rest.find(['=', ':']) {
        let key = unescaped(rest[..end].trim().trim_matches(','));
        let value = rest[end + 1..].trim_start();
        let (value, after) = match value.strip_prefix('\'') {
            Some(quoted) => match closing_quote(quoted) {
                Some(close) => (unescaped(&quoted[..close].replace("\\'", "'")), &quoted[close + 1..]),
                None => return found,
            },
            None => {
                let close = value.find(',').unwrap_or(value.len());
                (value[..close].trim().to_owned(), &value[close..])
            }
        };
        let is_name = |letter: char| letter.is_alphanumeric() || "._-".contains(letter);
        if key.is_empty() || !key.chars().all(is_name) {
            return found;
        }
        found.push((key.to_lowercase(), value));
        rest = after.trim_start().trim_start_matches(',').trim_start();
    }
    found
}

/// Where a text in quotes ends: a backslash takes the meaning of a quote away.
fn closing_quote(text: &str) -> Option<usize> {
    let mut quotes = text.match_indices('\'').map(|(at, _)| at);
    quotes.find(|at| !text[..*at].ends_with('\\'))
}

/// A text without the `%27` of URLs.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(comment: &str) -> StatementOrigin {
        StatementOrigin::of([comment])
    }

    #[test]
    fn sqlcommenter_tells_place_request_and_route() {
        let told = origin(
            "action='run%20it',controller='carts',file='shop%2Fviews.py',line='12',traceparent='00-4bf9-00f0-01'",
        );
        assert_eq!(told.place, Some(("shop/views.py".to_owned(), 12)));
        assert_eq!(told.request.as_deref(), Some("4bf9"));
        assert_eq!(told.route.as_deref(), Some("carts#run it"));
        assert_eq!(origin("route='/a%27b',request_id='7'").route.as_deref(), Some("/a'b"));
        assert_eq!(origin("route='/a\\'b'").route.as_deref(), Some("/a'b"));
    }

    #[test]
    fn rails_tells_place_and_handler() {
        let told = origin("application:Shop,controller:carts,action:buy,line:/app/models/cart.rb:12:in `buy'");
        assert_eq!(told.place, Some(("/app/models/cart.rb".to_owned(), 12)));
        assert_eq!((told.request, told.route.as_deref()), (None, Some("carts#buy")));
        assert_eq!(origin("source_location:a.rb:7").place, Some(("a.rb".to_owned(), 7)));
    }

    #[test]
    fn other_comments_tell_nothing() {
        for text in [
            "",
            "a note",
            "TODO: look",
            "see http://x:80/y",
            "a=b=c",
            "='",
            "k='open",
            "file='a.py',line='x'",
            "%",
            "k='%zz'",
        ] {
            let told = origin(text);
            assert_eq!((told.place, told.request, told.route), (None, None, None), "{text}");
        }
    }
}
