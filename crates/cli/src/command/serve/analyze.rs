//! `skew serve --analyze -- command`: what the command says in one run, analysed as `skew analyze` does with a log.

use super::Arguments;
use super::predict::serve_settings;
use crate::clock;
use crate::console::Console;
use crate::exit::Exit;
use crate::input::Complaint;
use crate::output::{unwritable, write_whole};
use skew_analyze::UnfoldOptions;
use skew_campaign::analyzed::{AnalyzeSettings, Analyzed, AnalyzedText, Baseline};
use skew_campaign::command::CommandEnd;
use skew_campaign::served::database::DatabaseSettings;
use skew_campaign::served::{ServeSettings, listen_to};
use skew_mockdb::ChooserKind;

pub(super) fn serve(arguments: &Arguments, console: &mut Console) -> Result<Exit, Complaint> {
    let served = serve_settings(arguments)?;
    let database = DatabaseSettings { level: arguments.level, chooser: ChooserKind::Latest, ..served.database };
    let settings = ServeSettings { database, wire: arguments.wire(None), timeout: arguments.timeout, ..served };
    clock::something_to_keep();
    let run = listen_to(&settings, clock::flags())?;
    match &run.ended {
        CommandEnd::Well => {}
        CommandEnd::Badly(how) => {
            console.note(&format!("the command failed ({how}); analysed is what it said until then"))
        }
        CommandEnd::Interrupted | CommandEnd::GivenUp => return Ok(Exit::Inconclusive),
    }
    let mut name = "(served)".to_owned();
    if let Some(path) = &arguments.statements {
        name = path.to_string_lossy().into_owned();
        write_whole(path, &run.statements).map_err(|error| unwritable(path, &error))?;
    }
    let files: Vec<(String, String)> = settings.database.initial.into_iter().chain([(name, run.statements)]).collect();
    let usual = AnalyzeSettings::new(AnalyzeSettings::USUAL.to_vec(), UnfoldOptions::default(), false, false);
    let usual = usual.keeping_nothing();
    let analyzed = Analyzed::new(AnalyzedText::new(&files)?, usual, &Baseline::default())?;
    console.say(&analyzed.human(console.palette));
    Ok(analyzed.conclusion().into())
}
