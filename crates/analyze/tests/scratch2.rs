#[test]
fn dump() {
    let program = skew_program::Program::parse(&std::fs::read_to_string(std::env::var("FILE").unwrap()).unwrap()).unwrap();
    for p in program.procedures() { for (n, s) in p.flow().iter().enumerate() {
        println!("{} {n} {:?} {:?} ext {:?} one {} tested {:?}", p.name, s.text, s.action, s.touches.extremum, s.touches.one_row, s.touches.tested);
        for t in &s.touches.tables { println!("      {} {:?} guarded {} known {:?} reads {:?}", t.table, t.rows, t.guarded, t.known, t.reads); }
    } }
}
