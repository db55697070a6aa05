package dynamoledger

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
)

// shards is how many partitions a cluster's claims are spread over. It is part of the keys: changing it moves claims.
const shards = 8

// maxDocBytes keeps items far below DynamoDB's 400 KB.
const maxDocBytes = 350_000

type item = map[string]types.AttributeValue

// registryPK is the partition of the registrations.
const registryPK = "CLUSTERS"

func clusterPK(cluster string) string { return "C#" + cluster + "#" }

// watchPK is the partition of what the cluster's watcher writes: the snapshot manifest and the count of epochs. Its
// permissions end there, so that nothing else of it is read as part of the ledger.
func watchPK(cluster string) string { return clusterPK(cluster) + "W#" }

func shardPK(cluster string, shard int) string {
	return clusterPK(cluster) + "N#" + strconv.Itoa(shard)
}

func claimPK(cluster, name string) string {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return shardPK(cluster, int(hash.Sum32()%shards))
}

func regionPK(account, region string) string { return "R#" + account + "#" + region + "#" }

// clusterOf returns whose partition a key is in, "" where it is no cluster's.
func clusterOf(pk string) string {
	rest, ok := strings.CutPrefix(pk, "C#")
	if !ok {
		return ""
	}
	cluster, _, _ := strings.Cut(rest, "#")
	return cluster
}

// The sort keys. A name or an id follows those that end in #.
//
// What is over is kept for a day and read by nobody but who asks for it by name, so it is moved, in the transaction
// that ends it, behind what every run reads of its partition. Reads end before it, and cost nothing for it.
//
// A claim's partition is in this order: CLAIM#, the claims that are live; ENDED#, those that had an instance and are
// gone, the latest first; ~CLAIM#, the name of every one that is gone. Queries read in the order of keys: a claim that
// is closed meanwhile is met live, or gone, or both, and never missed. Claims of no pool stay where they are, since
// their names are asked for again on condition of the version they had.
const (
	claimSK         = "CLAIM#"
	endedSK         = "ENDED#"
	goneSK          = "~CLAIM#"
	intentSK        = "INTENT#"
	doneSK          = "~INTENT#"
	afterAll        = "~" // keys that begin with it are read by nobody who reads a partition
	usageSK         = "USE#"
	classSK         = "CLASS#"
	commandSK       = "COMMAND#"
	budgetVersionSK = "TURN#"
	leaseSK         = "LEASE#"
	hintSK          = "TELL#"
	stopSK          = "STOP" // of a cluster, or of account and region; a pool's has the pool's name after a # too
	notesSK         = "NOTES"
	shiftSK         = "SHIFT"
	disruptNotesSK  = "JUDGE"
	collectorSK     = "CASES"
	manifestSK      = "SNAP"
	epochSK         = "EPOCH"
	unavailableSK   = "MARK#"
	allowanceSK     = "ALLOWANCE"
)

// lastUnix is what the time in a sort key of ENDED# is taken from.
const lastUnix = 9_999_999_999

// endedTime begins the sort keys of what ended at a time; later times sort first.
func endedTime(unix int64) string {
	return fmt.Sprintf("%s%010d", endedSK, lastUnix-min(max(unix, 0), lastUnix))
}

// endedSince ends the range of sort keys of live claims and those that ended at a time or later.
func endedSince(unix int64) string { return endedTime(unix) + "$" }

// nameOfClaim returns whose item a sort key is: CLAIM#<name>, ~CLAIM#<name> or ENDED#<time>#<name>.
func nameOfClaim(sk string) string {
	kind, name, _ := strings.Cut(sk, "#")
	if kind+"#" == endedSK {
		_, name, _ = strings.Cut(name, "#")
	}
	return name
}

// Attributes beside those that the conditions of writes name.
const (
	standalone     = "standalone" // of claims of no pool
	endedAt        = "at"         // of ~CLAIM#: the sort key of ENDED#
	resourcePrefix = "r:"         // begins those of a usage item that hold amounts
)

func key(pk, sk string) item { return item{"PK": text(pk), "SK": text(sk)} }

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(value, 10)}
}

// numberOf returns an attribute as an integer, 0 where it is absent or none.
func numberOf(i item, name string) int64 {
	value, err := amountOf(i, name)
	if err != nil {
		return 0
	}
	return value
}

// amountOf returns an attribute as an integer, 0 where it is absent. Another one is an error.
func amountOf(entry item, name string) (int64, error) {
	attribute, there := entry[name]
	if !there {
		return 0, nil
	}
	if n, ok := attribute.(*types.AttributeValueMemberN); ok {
		if value, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return value, nil
		}
	}
	return 0, fmt.Errorf("item %s %s: attribute %s is not an integer", textOf(entry, "PK"), textOf(entry, "SK"), name)
}

// textOf returns an attribute as text, "" where it is absent or none.
func textOf(i item, name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// expired reports whether an item's time to live is over: DynamoDB deletes it only some days later.
func expired(entry item, nowUnix int64) bool {
	ttl := numberOf(entry, "ttl")
	return ttl != 0 && ttl <= nowUnix
}

// withDoc returns an item with a value as its attribute doc.
func withDoc(key item, what string, value any) (item, error) {
	doc, err := encode(what, value)
	key["doc"] = doc
	return key, err
}

// encode returns the value as the doc attribute.
func encode(what string, value any) (types.AttributeValue, error) {
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "encode %s", what)
	}
	if len(doc) > maxDocBytes {
		return nil, fault.New(fault.Invalid, "ItemTooLarge", "%s takes %d bytes and an item holds %d", what, len(doc),
			maxDocBytes)
	}
	return text(string(doc)), nil
}

func decode(i item, into any) error {
	if err := json.Unmarshal([]byte(textOf(i, "doc")), into); err != nil {
		return fmt.Errorf("decode item %s %s: %w", textOf(i, "PK"), textOf(i, "SK"), err)
	}
	return nil
}

// decodeWhole decodes an item's doc into a value, or leaves that as it is.
func decodeWhole[T any](entry item, into *T) error {
	var value T
	if err := decode(entry, &value); err != nil {
		return err
	}
	*into = value
	return nil
}

// appendDecoded decodes an item's doc and appends it.
func appendDecoded[T any](entry item, to *[]T) error {
	var value T
	if err := decode(entry, &value); err != nil {
		return err
	}
	*to = append(*to, value)
	return nil
}
