import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit

/** A program that listens on this machine until it is closed. */
open class Listening(vararg arguments: String) : AutoCloseable {
    private val process = start(*arguments)
    val url: String

    init {
        val lines = process.inputStream.bufferedReader()
        url = generateSequence { lines.readLine() }.firstNotNullOf { ADDRESS.find(it)?.value }
    }

    override fun close() {
        process.destroy()
        if (!process.waitFor(20, TimeUnit.SECONDS)) process.destroyForcibly()
    }

    private companion object {
        val ADDRESS = Regex("""http://127\.0\.0\.1:\d+""")
    }
}

/** A service of `papir serve` with the words of a small table, which relays reach, too. */
class Service(folder: Path, scheme: String = "inspire", vararg more: String) : Listening(
    "serve", words(folder, scheme), "--listen", "127.0.0.1:0",
    "--registry", folder.resolve("registry").toString(), "--ohttp", folder.resolve("ohttp.toml").toString(),
    *more,
)

/** An issuer of `papir issuer` for the client of [addClient]. */
class Issuer(folder: Path) : Listening(
    "issuer", "--listen", "127.0.0.1:0", "--keys", folder.resolve("issuer.toml").toString(),
    "--counts", folder.resolve("issued.redb").toString(), "--tokens", clients(folder),
)

/** Adds a client of an issuer, and returns its bearer token. */
fun addClient(folder: Path): String {
    val added = start("tokens", clients(folder), "add", "--name", "phone")
    val printed = added.inputStream.bufferedReader().readText()
    check(added.waitFor() == 0) { "papir tokens failed: $printed" }
    return Regex("papir_[0-9a-f]+").find(printed)?.value ?: error("no token in: $printed")
}

private fun clients(folder: Path) = folder.resolve("clients.toml").toString()

/** A relay of `papir relay` before a service. */
class Relay(service: Service) : Listening("relay", "--listen", "127.0.0.1:0", "--to", service.url)

/** One of several services of a database. */
class Replica(database: String) : Listening("serve", database, "--listen", "127.0.0.1:0")

/** Builds a database of two words that an owner has signed, and returns its path. */
fun signedWords(folder: Path): String {
    val key = folder.resolve("owner.key").toString()
    val made = start("checkpoint", "keygen", key, "--name", "tests/owner")
    check(made.waitFor() == 0) { "papir checkpoint keygen failed" }
    return words(folder, "simple", "--sign", key)
}

/** Answers a query in a message, as the operator of a service that was in the folder. */
fun answered(folder: Path, query: ByteArray): ByteArray {
    val answering = answering(folder, query)
    val printed = answering.inputStream.bufferedReader().readText()
    check(answering.waitFor() == 0) { "papir answer failed: $printed" }
    return Files.readAllBytes(folder.resolve("a.bin"))
}

/** The words with which `papir answer` refuses a query in a message. */
fun refusal(folder: Path, query: ByteArray, vararg more: String): String {
    val answering = answering(folder, query, *more)
    val printed = answering.inputStream.bufferedReader().readText()
    check(answering.waitFor() == 2) { "papir answer did not fail: $printed" }
    return printed
}

private fun answering(folder: Path, query: ByteArray, vararg more: String): Process {
    Files.write(folder.resolve("q.bin"), query)
    val (database, asked, registry, out) =
        listOf("words.papir", "q.bin", "registry", "a.bin").map { folder.resolve(it).toString() }
    return start("answer", database, asked, "--registry", registry, "--out", out, *more)
}

/** Changes a word of the database in the folder, which is then another version. */
fun update(folder: Path) {
    val changes = folder.resolve("changes.csv")
    Files.writeString(changes, "word,meaning\napple,a tree\n")
    val updating = start("update", folder.resolve("words.papir").toString(), "--from", changes.toString())
    val printed = updating.inputStream.bufferedReader().readText()
    check(updating.waitFor() == 0) { "papir update failed: $printed" }
}

/** Builds a database of two words, and returns its path. */
private fun words(folder: Path, scheme: String, vararg more: String): String {
    val words = folder.resolve("words.csv")
    Files.writeString(words, "word,meaning\napple,a fruit\nfern,a plant\n")
    val database = folder.resolve("words.papir").toString()
    val build = start(
        "build", words.toString(), "--key", "word", "--value", "meaning", "--scheme", scheme, "--out", database,
        *more,
    )
    check(build.waitFor() == 0) { "papir build failed" }
    return database
}

private fun start(vararg arguments: String): Process {
    val program = System.getenv("PAPIR") ?: error("PAPIR is not set: expected the path of the program")
    return ProcessBuilder(program, *arguments).redirectErrorStream(true).start()
}
