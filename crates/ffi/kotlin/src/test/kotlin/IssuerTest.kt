import java.nio.file.Path
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import papir.Database
import papir.Options
import papir.PapirException

class IssuerTest {
    @TempDir
    lateinit var folder: Path

    /** Options without what is stored from an earlier connection. */
    private fun paid(issuer: String?, token: String?) =
        Options(issuer = issuer, issuerToken = token, storage = Memory())

    private suspend fun look(url: String, options: Options) =
        Database.connect(url, options).use { it.get("apple".toByteArray())?.decodeToString() }

    @Test
    fun `lookups are paid with tokens of the issuer`() = runBlocking {
        val token = addClient(folder)
        Issuer(folder).use { issuer ->
            // Not the address that the service's first line is searched for.
            val url = issuer.url.replace("127.0.0.1", "localhost")
            val demands = arrayOf("--privacy-pass", url, "--privacy-pass-origin", "127.0.0.1")
            Service(folder, "simple", *demands).use { service ->
                assertEquals("a fruit", look(service.url, paid(url, token)))
                val refused = assertFailsWith<PapirException.Failed> { look(service.url, paid(null, null)) }
                assertEquals("no_issuer", refused.code, refused.text)
            }
        }
    }

    @Test
    fun `issuers that cannot be used are refused`() = runBlocking {
        for (options in listOf(paid("http://i.example", null), paid("https://i.example/a", "t"), paid(null, "t"))) {
            val refused = assertFailsWith<PapirException.Failed> { look("http://127.0.0.1:1", options) }
            assertEquals("bad_issuer", refused.code, refused.text)
        }
    }
}
