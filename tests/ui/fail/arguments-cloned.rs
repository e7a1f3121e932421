mod carry_beside_clone {
    use retry_runtime::retry;

    #[retry(clone(items), carry(items))]
    async fn store(mut items: Vec<u8>) -> Result<(), String> {
        items.pop();
        Ok(())
    }
}

mod carry_empty {
    use retry_runtime::retry;

    #[retry(carry)]
    async fn store(items: Vec<u8>) -> Result<(), String> {
        drop(&items);
        Ok(())
    }

    #[retry(carry = [items, rest])]
    async fn in_brackets(items: Vec<u8>, rest: Vec<u8>) -> Result<(), String> {
        drop((&items, &rest));
        Ok(())
    }

    // cured 3: carry => carry(items)
    // cured 3: (items: => (mut items:
    // cured 9: carry = [items, rest] => {}
    // cured 9: rest: Vec => mut rest: Vec
}

mod carry_no_parameter {
    use retry_runtime::retry;

    #[retry(carry(item))]
    async fn store(mut items: Vec<u8>, _: u8) -> Result<(), String> {
        items.pop();
        Ok(())
    }
}

mod carry_with_hedge {
    use retry_runtime::retry;

    #[retry(hedge = "200ms", carry(items))]
    async fn store(mut items: Vec<u8>) -> Result<(), String> {
        items.pop();
        Ok(())
    }

    // cured 3: carry(items) => {}
}

mod carry_without_mut {
    use retry_runtime::retry;

    #[retry(carry(items))]
    async fn store(items: Vec<u8>) -> Result<usize, String> {
        Ok(items.len())
    }

    #[retry(carry(items))]
    async fn drain(items: &mut Vec<u8>) -> Result<(), String> {
        items.pop();
        Ok(())
    }

    // cured 3: items: Vec => {}: Vec
}

mod clone_empty {
    use retry_runtime::retry;

    #[retry(clone())]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // cured 3: fetch() => fetch(body: String, headers: String)
    // cured 3: clone() => {}
}

mod clone_no_parameter {
    use retry_runtime::retry;

    #[retry(clone(boddy))]
    async fn send(body: Vec<u8>) -> Result<usize, String> {
        Ok(body.len())
    }
}

mod clone_of_a_ref_pattern {
    use retry_runtime::retry;

    #[retry(clone(items))]
    #[allow(clippy::toplevel_ref_arg)]
    async fn store(ref mut items: Vec<u8>) -> Result<(), String> {
        items.pop();
        Ok(())
    }

    // cured 3: ref mut items => {}
}

mod clone_of_a_reference {
    use retry_runtime::retry;

    #[retry(clone(text))]
    async fn fetch(text: &str) -> Result<usize, String> {
        Ok(text.len())
    }
}

mod clone_of_an_expression {
    //! `clone` takes names, not expressions.
    use retry_runtime::retry;

    #[retry(attempts = 3, clone(&body))]
    async fn upload(body: String) -> Result<usize, String> {
        Ok(body.into_bytes().len())
    }

    #[retry(attempts = 3, clone("body"))]
    async fn quoted(body: String) -> Result<usize, String> {
        Ok(body.into_bytes().len())
    }

    #[retry(attempts = 3, clone(body.clone()))]
    async fn called(body: String) -> Result<usize, String> {
        Ok(body.into_bytes().len())
    }

    // cured 4: clone(&body) => clone(body)
    // cured 9: clone("body") => clone(body)
    // cured 14: clone(body.clone()) => clone(body)
}

fn main() {}
