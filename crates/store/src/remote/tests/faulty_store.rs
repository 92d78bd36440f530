//! An in-memory object store that records requests, fails, and damages data.

use std::fmt;
use std::sync::Mutex;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};

/// The store. Faults apply until [`FaultyStore::reset`].
#[derive(Debug, Default)]
pub(super) struct FaultyStore {
    inner: InMemory,
    rules: Mutex<Rules>,
}

#[derive(Debug, Default)]
struct Rules {
    puts: Vec<String>,
    gets: Vec<String>,
    puts_left: Option<usize>,
    gets_left: Option<usize>,
    damaged: Option<(String, usize)>,
}

impl FaultyStore {
    pub(super) fn puts(&self) -> Vec<String> {
        self.rules.lock().unwrap().puts.clone()
    }

    pub(super) fn gets(&self) -> Vec<String> {
        self.rules.lock().unwrap().gets.clone()
    }

    /// Forgets recorded requests and faults.
    pub(super) fn reset(&self) {
        *self.rules.lock().unwrap() = Rules::default();
    }

    pub(super) fn fail_after_puts(&self, count: usize) {
        self.rules.lock().unwrap().puts_left = Some(count);
    }

    pub(super) fn fail_after_gets(&self, count: usize) {
        self.rules.lock().unwrap().gets_left = Some(count);
    }

    /// Returns a key's object with a flipped byte, `times` times.
    pub(super) fn damage(&self, key: &str, times: usize) {
        self.rules.lock().unwrap().damaged = Some((key.to_owned(), times));
    }

    pub(super) fn put(&self, key: &str, bytes: &[u8]) {
        block(
            self.inner
                .put(&Path::from(key), PutPayload::from(bytes.to_vec())),
        )
        .unwrap();
    }

    pub(super) fn remove(&self, key: &str) {
        block(self.inner.delete(&Path::from(key))).unwrap();
    }

    /// Number of stored parts.
    pub(super) fn parts(&self) -> usize {
        use futures_util::StreamExt;
        block(
            self.inner
                .list(Some(&Path::from("data/a.pir.parts")))
                .count(),
        )
    }

    fn is_damaged(&self, key: &str) -> bool {
        match &mut self.rules.lock().unwrap().damaged {
            Some((damaged, times)) if damaged == key && *times > 0 => {
                *times -= 1;
                true
            }
            _ => false,
        }
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap()
        .block_on(future)
}

/// Uses up one of the remaining requests; an error if none is left.
fn take(left: &mut Option<usize>) -> Result<()> {
    match left {
        Some(0) => Err(Error::Generic {
            store: "faulty",
            source: "connection lost".into(),
        }),
        Some(left) => {
            *left -= 1;
            Ok(())
        }
        None => Ok(()),
    }
}

impl fmt::Display for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("faulty")
    }
}

#[async_trait]
impl ObjectStore for FaultyStore {
    async fn put_opts(
        &self,
        key: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        {
            let mut rules = self.rules.lock().unwrap();
            take(&mut rules.puts_left)?;
            rules.puts.push(key.to_string());
        }
        self.inner.put_opts(key, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        key: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(key, options).await
    }

    async fn get_opts(&self, key: &Path, options: GetOptions) -> Result<GetResult> {
        {
            let mut rules = self.rules.lock().unwrap();
            take(&mut rules.gets_left)?;
            rules.gets.push(key.to_string());
        }
        let got = self.inner.get_opts(key, options).await?;
        if !self.is_damaged(key.as_ref()) {
            return Ok(got);
        }
        let mut bytes: Vec<u8> = got.bytes().await?.into();
        bytes[7] ^= 1;
        let damaged = InMemory::new();
        damaged.put(key, PutPayload::from(bytes)).await?;
        damaged.get(key).await
    }

    fn delete_stream(
        &self,
        keys: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(keys)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
