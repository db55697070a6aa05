package lambdaruntime

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxRecursion is how many invocations of one function a chain of queues may cause before the guard stops it.
const maxRecursion = 16

// nextTrace returns the trace header of an invocation caused by a message that carried parent, and how many invocations
// of this function the chain counts, this one included. The AWS SDKs copy the header of the invocation they run in to
// every request, and SQS keeps it with the message: so the lineage in it survives the queue.
func nextTrace(parent, functionARN string) (header string, count int) {
	fields := traceFields(parent)
	root := fields["Root"]
	if root == "" {
		root = fmt.Sprintf("1-%08x-%s", time.Now().Unix(), randomHex(12))
	}
	sampled := fields["Sampled"]
	if sampled == "" {
		sampled = "0"
	}
	lineage, count := countHop(fields["Lineage"], functionARN)
	return fmt.Sprintf("Root=%s;Parent=%s;Sampled=%s;Lineage=%s", root, randomHex(8), sampled, lineage), count
}

func traceFields(header string) map[string]string {
	fields := map[string]string{}
	// The SDKs percent-encode what they copy from the environment.
	if decoded, err := url.PathUnescape(header); err == nil {
		header = decoded
	}
	for part := range strings.SplitSeq(header, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok {
			fields[name] = value
		}
	}
	return fields
}

// countHop adds one to the function's entry in a lineage of the form "hash:count|hash:count".
func countHop(lineage, functionARN string) (string, int) {
	hash := fnv.New32a()
	hash.Write([]byte(functionARN))
	own := fmt.Sprintf("%08x", hash.Sum32())
	var entries []string
	count := 1
	for entry := range strings.SplitSeq(lineage, "|") {
		function, hops, ok := strings.Cut(entry, ":")
		if !ok {
			continue
		}
		if function != own {
			entries = append(entries, entry)
			continue
		}
		if n, err := strconv.Atoi(hops); err == nil {
			count = n + 1
		}
	}
	entries = append(entries, own+":"+strconv.Itoa(count))
	return strings.Join(entries, "|"), count
}

func randomHex(byteCount int) string {
	random := make([]byte, byteCount)
	rand.Read(random) // never fails
	return hex.EncodeToString(random)
}
