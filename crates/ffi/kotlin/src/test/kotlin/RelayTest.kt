import java.net.URI
import java.nio.file.Files
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

class RelayTest {
    @TempDir
    lateinit var folder: Path

    /** Options without retries, and without what is stored from an earlier connection. */
    private fun through(relay: String?, keys: Path? = null) =
        Options(relay = relay, ohttpKeys = keys?.toString(), patience = Duration.ZERO, storage = Memory())

    private suspend fun look(url: String, options: Options) =
        Database.connect(url, options).use { it.get("apple".toByteArray())?.decodeToString() }

    @Test
    fun `lookups go through the relay`() = runBlocking {
        Service(folder, scheme = "simple").use { service ->
            val keys = folder.resolve("gateway.keys")
            Files.write(keys, URI("${service.url}/.well-known/ohttp-gateway").toURL().readBytes())
            val relay = Relay(service)
            relay.use {
                assertEquals("a fruit", look(service.url, through(it.url)))
                assertEquals("a fruit", look(service.url, through(it.url, keys)))
            }
            // The relay is gone, and the service is still there.
            val refused = assertFailsWith<PapirException.Failed> { look(service.url, through(relay.url)) }
            assertEquals(ErrorKind.NETWORK, refused.kind)
            assertTrue(refused.code == "relay" && refused.retryable, refused.text)
        }
    }

    @Test
    fun `a file without keys, and keys without a relay, are refused`() = runBlocking {
        Service(folder, scheme = "simple").use { service ->
            val keys = folder.resolve("gateway.keys")
            Files.writeString(keys, "no keys")
            for (options in listOf(through("http://127.0.0.1:9", keys), through(null, keys))) {
                val refused = assertFailsWith<PapirException.Failed> { look(service.url, options) }
                assertEquals("bad_ohttp_keys", refused.code, refused.text)
            }
        }
    }

    @Test
    fun `a relay that cannot be used is refused`() = runBlocking {
        for (relay in listOf("http://r.example", "r.example", "")) {
            val refused = assertFailsWith<PapirException.Failed> { look("http://127.0.0.1:1", through(relay)) }
            assertEquals("bad_relay", refused.code, refused.text)
        }
    }
}
