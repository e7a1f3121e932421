mod argument_called_once_in_a_box {
    use retry_runtime::retry;

    #[retry]
    fn call(op: Box<dyn FnOnce() -> Result<u32, String>>) -> Result<u32, String> {
        op()
    }

    // cured 4/1: FnOnce => {}
    // cured 4/2: op: Box<dyn FnOnce => mut op: Box<dyn {}
}

mod context_hides_an_argument {
    use retry_runtime::retry;

    #[retry(context = id)]
    async fn fetch(id: &u32) -> Result<u32, String> {
        Ok(id.number())
    }
}

mod context_without_name {
    use retry_runtime::retry;

    #[retry(context = 5)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }
}

mod mut_argument {
    //! A change of an argument by value would be left to the next attempt.
    use retry_runtime::retry;

    #[retry]
    async fn text(mut url: String) -> Result<String, String> {
        url.push_str("&v=1");
        Ok(url.clone())
    }

    #[retry]
    fn number(mut id: u32) -> Result<u32, String> {
        id += 1;
        Ok(id)
    }

    #[retry(clone(name))]
    async fn parts((name, mut ids): (String, Vec<u32>), _: u8) -> Result<usize, String> {
        ids.push(1);
        Ok(name.len() + ids.len())
    }

    #[retry]
    async fn reference(mut rest: &[u8]) -> Result<usize, String> {
        rest = &rest[1..];
        Ok(rest.len())
    }

    #[retry]
    async fn exclusive(mut rest: &mut [u8]) -> Result<usize, String> {
        rest = &mut rest[1..];
        Ok(rest.len())
    }

    #[retry]
    #[allow(clippy::toplevel_ref_arg)]
    async fn by_reference(ref mut rest: Vec<u8>) -> Result<usize, String> {
        rest.push(1);
        Ok(rest.len())
    }

    /// Not called by itself.
    #[retry]
    async fn calls(mut all: Vec<Box<dyn FnMut() -> u8 + Send>>) -> Result<usize, String> {
        all.pop();
        Ok(all.len())
    }

    const ONCE: u32 = 1;

    /// Not a literal.
    #[retry(attempts = ONCE)]
    async fn constant(mut id: u32) -> Result<u32, String> {
        id += 1;
        Ok(id)
    }

    // cured 17: clone(name) => clone(name, ids)
    // cured 36: ref mut rest => {0}
    // cured 36: #[retry] => #[retry({1})]
}

mod mut_argument_async_trait {
    //! `#[async_trait]` moves `mut` and patterns into the body.
    use async_trait::async_trait;
    use retry_runtime::retry;

    #[async_trait]
    trait Fetch {
        async fn text(&self, url: String) -> Result<String, String>;
        async fn parts(&mut self, parts: (String, Vec<u32>)) -> Result<usize, String>;
        async fn consume(self) -> Result<u32, String>;
    }

    struct Client(u32);

    #[async_trait]
    impl Fetch for Client {
        #[retry]
        async fn text(&self, mut url: String) -> Result<String, String> {
            url.push_str("&v=1");
            Ok(url.clone())
        }

        #[retry]
        async fn parts(&mut self, (name, mut ids): (String, Vec<u32>)) -> Result<usize, String> {
            ids.push(1);
            Ok(name.len() + ids.len())
        }

        #[retry]
        async fn consume(mut self) -> Result<u32, String> {
            self.0 += 1;
            Ok(self.0)
        }
    }
}

mod mut_argument_with_hedge {
    //! Attempts that run at once share an argument, even if there is only one besides its hedge.
    use retry_runtime::retry;

    #[retry(attempts = 1, hedge = "200ms")]
    async fn fetch(mut url: String) -> Result<String, String> {
        url.push_str("&v=1");
        Ok(url.clone())
    }
}

mod mut_self {
    //! A change of `self` by value would be left to the next attempt.
    use retry_runtime::retry;

    struct Request {
        signatures: u32,
    }

    impl Request {
        #[retry]
        async fn sent(mut self) -> Result<u32, String> {
            self.signatures += 1;
            Ok(self.signatures)
        }

        #[retry]
        fn boxed(mut self: Box<Self>) -> Result<u32, String> {
            self.signatures += 1;
            Ok(self.signatures)
        }

        #[retry]
        async fn consumed(mut self) -> Result<u32, String> {
            self.signatures += 1;
            send(self).await
        }

        #[retry(carry(self))]
        async fn carried(self) -> Result<u32, String> {
            Ok(self.signatures)
        }
    }

    async fn send(request: Request) -> Result<u32, String> {
        Ok(request.signatures)
    }
}

fn main() {}
