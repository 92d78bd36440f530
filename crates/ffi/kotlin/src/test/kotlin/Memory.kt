import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.Semaphore
import papir.Storage

/** Client state in memory. */
class Memory : Storage {
    val entries = ConcurrentHashMap<String, ByteArray>()
    private val locks = ConcurrentHashMap<String, Semaphore>()

    override fun lock(slot: String) = locks.getOrPut(slot) { Semaphore(1) }.acquire()

    override fun unlock(slot: String) = locks.getValue(slot).release()

    override fun read(slot: String, entry: String): ByteArray? = entries["$slot.$entry"]

    override fun replace(slot: String, entry: String, bytes: ByteArray) {
        entries["$slot.$entry"] = bytes
    }

    override fun remove(slot: String, entry: String) {
        entries.remove("$slot.$entry")
    }
}
