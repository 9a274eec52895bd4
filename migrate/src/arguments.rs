//! The command line.

use std::path::PathBuf;

const USAGE: &str = "\
usage: migrate [--dry-run] [--allow RULE,RULE] SOURCE

Changes the locks of the crate in the folder SOURCE, or in one file, from std's and parking_lot's to
instrumented-lock's, and prints the difference.

  --dry-run           prints the difference, and changes nothing
  --allow RULE,RULE   writes `#[instrumented(allow(RULE, RULE))]` on impls and functions";

#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) is_dry_run: bool,
    pub(crate) allow: Option<String>,
    pub(crate) source: PathBuf,
}

impl Arguments {
    pub(crate) fn read(arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut is_dry_run, mut allow, mut sources) = (false, None, Vec::new());
        let mut arguments = arguments.peekable();
        arguments.next_if(|first| first == "migrate");
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--dry-run" => is_dry_run = true,
                "--allow" => {
                    let rules = arguments.next().ok_or("`--allow` wants rules")?;
                    let rules: Vec<_> = rules.split(',').map(str::trim).collect();
                    allow = Some(rules.join(", "));
                }
                "--help" | "-h" => return Err(USAGE.to_owned()),
                option if option.starts_with('-') => {
                    return Err(format!("there is no option `{option}`\n\n{USAGE}"));
                }
                source => sources.push(PathBuf::from(source)),
            }
        }
        match <[PathBuf; 1]>::try_from(sources) {
            Ok([source]) => Ok(Arguments {
                is_dry_run,
                allow,
                source,
            }),
            Err(_) => Err(USAGE.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str]) -> Result<Arguments, String> {
        Arguments::read(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn read_takes_the_command_or_leaves_it_out() {
        for arguments in [&["migrate", "--dry-run", "src"][..], &["src", "--dry-run"]] {
            let read = read(arguments).expect("they are right");
            assert!(read.is_dry_run && read.source.ends_with("src"));
        }
        let with_rules = read(&["src", "--allow", "relock,scrutinee_guard"]);
        let with_rules = with_rules.expect("they are right");
        assert_eq!(with_rules.allow.as_deref(), Some("relock, scrutinee_guard"));
        assert!(!with_rules.is_dry_run);
    }

    #[test]
    fn read_refuses_what_it_does_not_know() {
        for arguments in [&["--dry"][..], &["a", "b"], &[], &["--allow"], &["--help"]] {
            assert!(read(arguments).is_err(), "{arguments:?}");
        }
    }
}
