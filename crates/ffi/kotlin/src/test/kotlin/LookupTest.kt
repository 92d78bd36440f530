import java.nio.file.Path
import java.time.Duration
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertIs
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import papir.Database
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
                val keyed = assertFailsWith<PapirException.Other> { database.getIndex(0u) }
                assertEquals("keyed", keyed.detail.code)
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
        val refused = assertFailsWith<PapirException.Network> { Database.connect("http://127.0.0.1:1", away) }
        assertTrue(refused.detail.retryable && refused.detail.code == "transport", refused.detail.text)
        Service(folder).use { service ->
            val unknown = Options(database = "rivers", storage = Memory())
            val error = assertFailsWith<PapirException.Other> { Database.connect(service.url, unknown) }
            assertEquals("unknown_database", error.detail.code)
            for (failing in listOf(failing { throw StorageException.Failed("the phone is locked") },
                failing { error("the phone is locked") })) {
                val failed = assertIs<PapirException>(runCatching {
                    Database.connect(service.url, Options(storage = failing))
                }.exceptionOrNull())
                assertTrue("the phone is locked" in failed.message.orEmpty(), failed.message)
            }
        }
    }

    /** A storage that fails to read. */
    private fun failing(reason: () -> Nothing): Storage = object : Storage by Memory() {
        override fun read(slot: String, entry: String): ByteArray? = reason()
    }

    @Test
    fun `a cancelled lookup leaves the database usable`() = runBlocking {
        Service(folder).use { service ->
            Database.connect(service.url, Options(storage = Memory())).use { database ->
                val lookup = launch { database.text("apple") }
                delay(1)
                lookup.cancelAndJoin()
                assertEquals("a fruit", database.text("apple"))
            }
        }
    }
}
