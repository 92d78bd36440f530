import java.nio.file.Path
import java.time.Duration
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertTrue
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import papir.Database
import papir.ErrorKind
import papir.Options
import papir.PapirException

class ServersTest {
    @TempDir
    lateinit var folder: Path

    private suspend fun Database.text(key: String) = get(key.toByteArray())?.decodeToString()

    /** Options without retries, and without what is stored from an earlier connection. */
    private fun once() = Options(patience = Duration.ZERO, storage = Memory())

    @Test
    fun `a lookup goes on at another server`() = runBlocking {
        val words = signedWords(folder)
        Replica(words).use { first ->
            Replica(words).use { second ->
                val urls = listOf(first.url, second.url)
                Database.connectAny(urls, once()).use { database ->
                    assertEquals("a fruit", database.text("apple"))
                    first.close()
                    assertEquals("a plant", database.text("fern"))
                    second.close()
                    val away = assertFailsWith<PapirException.Failed> { database.text("apple") }
                    assertEquals(ErrorKind.NETWORK, away.kind)
                    assertTrue(away.code == "no_server" && away.retryable, away.text)
                    assertTrue(urls.all { it in away.text }, away.text)
                }
            }
        }
    }

    @Test
    fun `servers that cannot be used together are refused`() = runBlocking {
        for (urls in listOf(emptyList(), listOf("http://127.0.0.1:1", "http://127.0.0.1:1/"))) {
            val refused = assertFailsWith<PapirException.Failed> { Database.connectAny(urls, once()) }
            assertEquals("servers", refused.code, refused.text)
        }
    }

    @Test
    fun `a required sequence refuses a database that is not signed`() = runBlocking {
        Service(folder, scheme = "simple").use { service ->
            val required = Options(sequence = 0uL, storage = Memory())
            val refused = assertFailsWith<PapirException.Failed> { Database.connect(service.url, required) }
            assertEquals("no_checkpoint", refused.code, refused.text)
        }
    }
}
