import java.nio.file.Path
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import papir.Database
import papir.ErrorKind
import papir.Options
import papir.PapirException
import papir.extractMessage

class MessageTest {
    @TempDir
    lateinit var folder: Path

    private val memory = Memory()

    /** Options of a client that uses the version that it keeps. */
    private fun keeping() = Options(known = "use", storage = memory)

    private suspend fun query(url: String, key: String) =
        Database.connect(url, keeping()).use { it.queryMessage(key.toByteArray()) }

    private suspend fun extracted(url: String, answer: ByteArray) =
        extractMessage(url, keeping(), answer)?.decodeToString()

    private suspend fun refused(url: String, answer: ByteArray): String {
        val refused = assertFailsWith<PapirException.Failed> { extracted(url, answer) }
        assertEquals("malformed", refused.code, refused.text)
        return refused.text
    }

    @Test
    fun `queries and answers travel in messages`() = runBlocking {
        // The first query registers, and keeps the version.
        val (url, first) = Service(folder, scheme = "pirouette").use { it.url to query(it.url, "apple") }
        // Nobody listens any more.
        val second = query(url, "moss")
        assertEquals(first.take(4), second.take(4))

        val answers = listOf(first, second).map { answered(folder, it) }
        assertEquals("a fruit", extracted(url, answers[0]))
        assertNull(extracted(url, answers[1]))
        val again = refused(url, answers[0])
        assertTrue("one that was extracted" in again, again)
    }

    @Test
    fun `each fault of a message has words of its own`() = runBlocking {
        val (url, query) = Service(folder, scheme = "pirouette").use { it.url to query(it.url, "apple") }
        val answer = answered(folder, query)
        val damaged = answer.copyOf().also { it[0] = (it[0] + 1).toByte() }
        val tag = refused(url, damaged)
        assertTrue("the tag of another client, version or query" in tag, tag)
        val cut = refused(url, answer.copyOf(answer.size - 1))
        assertTrue("a truncated one" in cut, cut)

        val other = query.copyOf().also { it[0] = (it[0] + 1).toByte() }
        val unknown = refusal(folder, other)
        assertTrue("its client is unknown" in unknown, unknown)
        val named = refusal(folder, query, "--client", "0".repeat(32))
        assertTrue("the named client is unknown" in named, named)
        val short = refusal(folder, query.copyOf(query.size - 1))
        assertTrue("a short query has" in short, short)

        update(folder)
        val earlier = refusal(folder, query)
        assertTrue("it is for version" in earlier, earlier)
        assertEquals("a fruit", extracted(url, answer))
    }

    @Test
    fun `schemes without registered keys have no queries in messages`() = runBlocking {
        Service(folder, scheme = "simple").use { service ->
            val refused = assertFailsWith<PapirException.Failed> { query(service.url, "apple") }
            assertEquals(ErrorKind.UNSUPPORTED, refused.kind, refused.text)
        }
    }

    @Test
    fun `a kept version is used without a request`() = runBlocking {
        val url = Service(folder, scheme = "simple").use { service ->
            Database.connect(service.url, keeping()).use { it.info() }
            service.url
        }
        // Nobody listens any more.
        Database.connect(url, keeping()).use { assertEquals("simple", it.info().scheme) }
    }
}
