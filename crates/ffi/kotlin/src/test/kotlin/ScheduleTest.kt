import java.nio.file.Path
import java.time.Duration
import kotlin.test.Test
import kotlin.test.assertEquals
import kotlin.test.assertFailsWith
import kotlin.test.assertNull
import kotlin.test.assertTrue
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.delay
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import org.junit.jupiter.api.io.TempDir
import papir.Database
import papir.ErrorKind
import papir.LookupSchedule
import papir.Options
import papir.PapirException

class ScheduleTest {
    @TempDir
    lateinit var folder: Path

    private suspend fun LookupSchedule.text(key: String) = get(key.toByteArray())?.decodeToString()

    private suspend fun LookupSchedule.awaitWaiting(count: ULong) {
        while (waiting() != count) delay(5)
    }

    /** Runs a test with a schedule of one database. */
    private fun scheduled(every: Duration, test: suspend (LookupSchedule) -> Unit) = runBlocking {
        Service(folder, scheme = "simple").use { service ->
            Database.connect(service.url, Options(storage = Memory())).use { database ->
                database.schedule(every, 2u).use { test(it) }
            }
        }
    }

    @Test
    fun `scheduled keys are looked up`() = scheduled(Duration.ofMillis(50)) { schedule ->
        assertEquals("a fruit", schedule.text("apple"))
        assertNull(schedule.text("moss"))
        val keyed = assertFailsWith<PapirException.Failed> { schedule.getIndex(0u) }
        assertEquals("keyed", keyed.code)
    }

    @Test
    fun `lookups of several coroutines travel together`() = scheduled(Duration.ofMillis(50)) { schedule ->
        coroutineScope {
            val keys = listOf("apple", "fern", "moss", "apple", "fern")
            val found = keys.map { key -> async { schedule.text(key) } }.awaitAll()
            assertEquals(listOf("a fruit", "a plant", null, "a fruit", "a plant"), found)
        }
    }

    @Test
    fun `requests are sent while nothing is looked up`() = scheduled(Duration.ofMillis(20)) { schedule ->
        while (schedule.costs().requests < 3uL) delay(20)
        assertEquals(0uL, schedule.waiting())
    }

    @Test
    fun `lookups that wait fail at the close`() = scheduled(Duration.ofHours(1)) { schedule ->
        coroutineScope {
            val failed = async {
                assertFailsWith<PapirException.Failed> { schedule.text("apple") }
            }
            schedule.awaitWaiting(1uL)
            schedule.close()
            assertEquals("schedule_closed", failed.await().code)
        }
    }

    @Test
    fun `a cancelled lookup keeps its place`() = scheduled(Duration.ofHours(1)) { schedule ->
        coroutineScope {
            val lookup = launch { schedule.text("apple") }
            schedule.awaitWaiting(1uL)
            lookup.cancelAndJoin()
            assertEquals(1uL, schedule.waiting())
        }
    }

    @Test
    fun `impossible schedules are refused`() = runBlocking {
        Service(folder, scheme = "simple").use { service ->
            Database.connect(service.url, Options(storage = Memory())).use { database ->
                for ((every, batch) in listOf(Duration.ZERO to 1u, Duration.ofSeconds(1) to 0u)) {
                    val refused = assertFailsWith<PapirException.Failed> { database.schedule(every, batch) }
                    assertEquals(ErrorKind.OTHER, refused.kind)
                    assertTrue(refused.code == "schedule" && !refused.retryable, refused.text)
                }
            }
        }
    }
}
