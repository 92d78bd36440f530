import java.nio.file.Path
import java.time.Duration
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import papir.Database
import papir.ErrorKind
import papir.Options
import papir.PapirException
import papir.Storage
import papir.StorageException

class LookupTest {
    @TempDir
    lateinit var folder: Path

    private suspend fun Database.text(key: String) = get(key.toByteArray())?.decodeToString()

    @Test
    fun `keys are looked up`() = runBlocking {
        Service(folder).use { service ->
            Database.connect(service.url, Options(storage = Memory())).use { database ->
                assertEquals("a fruit", database.text("apple"))
                assertNull(database.text("moss"))
                val values = database.getMany(listOf("fern", "moss").map { it.toByteArray() })
                assertEquals(listOf("a plant", null), values.map { it?.decodeToString() })
                val info = database.info()
                assertEquals("inspire", info.scheme)
                assertEquals(3uL, database.costs().requests)
                val keyed = assertFailsWith<PapirException.Failed> { database.getIndex(0u) }
                assertEquals("keyed", keyed.code)
            }
        }
    }

    @Test
    fun `a registered client is kept in the application's storage`() = runBlocking {
        Service(folder, scheme = "pirouette").use { service ->
            val memory = Memory()
            Database.connect(service.url, Options(storage = memory)).use { database ->
                assertEquals("a fruit", database.text("apple"))
                assertTrue(database.costs().registrationBytes > 0u)
            }
            assertTrue(memory.entries.keys.any { it.endsWith(".state") }, "${memory.entries.keys}")
            Database.connect(service.url, Options(storage = memory)).use { database ->
                assertEquals("a plant", database.text("fern"))
                assertEquals(0uL, database.costs().registrationBytes)
            }
        }
    }

    @Test
    fun `errors are exceptions with a code`() = runBlocking {
        val away = Options(patience = Duration.ZERO, storage = Memory())
        val refused = assertFailsWith<PapirException.Failed> { Database.connect("http://127.0.0.1:1", away) }
        assertEquals(ErrorKind.NETWORK, refused.kind, refused.text)
        assertTrue(refused.retryable && refused.code == "transport", refused.text)
        Service(folder).use { service ->
            val unknown = Options(database = "rivers", storage = Memory())
            val error = assertFailsWith<PapirException.Failed> { Database.connect(service.url, unknown) }
            assertEquals("unknown_database", error.code)
            val declared = failing { throw StorageException.Failed("the phone is locked") }
            val undeclared = failing { error("the phone is locked") }
            for (storage in listOf(declared, undeclared)) {
                val options = Options(storage = storage)
                val failed = assertFailsWith<PapirException.Failed> { Database.connect(service.url, options) }
                assertTrue("the phone is locked" in failed.text, failed.text)
            }
        }
    }

    /** A storage that fails to read. */
    private fun failing(reason: () -> Nothing): Storage = object : Storage by Memory() {
        override fun read(slot: String, entry: String): ByteArray? = reason()
    }

    @Test
    fun `a cancelled registration leaves the database and its storage usable`() = runBlocking {
        Service(folder, scheme = "pirouette").use { service ->
            val memory = object : Storage by Memory() {
                // Nobody waits for it.
                override fun unlock(slot: String) = error("the phone is locked")
            }
            for (storage in listOf(Memory(), memory)) {
                Database.connect(service.url, Options(storage = storage)).use { database ->
                    val registration = launch { database.register() }
                    delay(20)
                    registration.cancelAndJoin()
                    if (storage is Memory) assertEquals("a fruit", database.text("apple"))
                }
            }
        }
    }
}
