use std::fs::File;
use std::io::{self, BufReader, Lines};

use retry_workflow::{Workflow, WorkflowError};

async fn ship(lines: Lines<BufReader<File>>) -> Result<(), WorkflowError> {
    Workflow::new("ship")
        .run(lines, |line: io::Result<String>, _| async move {
            println!("{}", line?);
            Ok::<_, io::Error>(())
        })
        .await?;
    Ok(())
}

fn main() {}

// cured 8: by hand
