package dynamoledger

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/shared/fault"
)

// shards is how many partitions a cluster's claims are spread over. It is part of the keys: changing it moves claims.
const shards = 8

// maxDocBytes keeps items far below DynamoDB's 400 KB.
const maxDocBytes = 350_000

type item = map[string]types.AttributeValue

func clusterPK(cluster string) string { return "C#" + cluster + "#" }

// watchPK is the partition of what the cluster's watcher writes: the snapshot manifest and the count of epochs. Its permissions end there, so
// that nothing else of it is read as part of the ledger.
func watchPK(cluster string) string { return clusterPK(cluster) + "W#" }

// manifestSK is the sort key of the snapshot manifest.
const manifestSK = "SNAP"

func shardPK(cluster string, shard int) string {
	return clusterPK(cluster) + "N#" + strconv.Itoa(shard)
}

func claimPK(cluster, name string) string {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return shardPK(cluster, int(hash.Sum32()%shards))
}

func regionPK(account, region string) string { return "R#" + account + "#" + region + "#" }

func key(pk, sk string) item { return item{"PK": text(pk), "SK": text(sk)} }

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func number(value int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(value, 10)}
}

// numberOf returns an attribute as an integer, 0 where it is absent or none.
func numberOf(i item, name string) int64 {
	n, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return value
}

// textOf returns an attribute as text, "" where it is absent or none.
func textOf(i item, name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// encode returns the value as the doc attribute.
func encode(what string, value any) (types.AttributeValue, error) {
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "", err, "encode %s", what)
	}
	if len(doc) > maxDocBytes {
		return nil, fault.New(fault.Invalid, "ItemTooLarge", "%s takes %d bytes and an item holds %d", what, len(doc), maxDocBytes)
	}
	return text(string(doc)), nil
}

func decode(i item, into any) error {
	if err := json.Unmarshal([]byte(textOf(i, "doc")), into); err != nil {
		return fmt.Errorf("decode item %s %s: %w", textOf(i, "PK"), textOf(i, "SK"), err)
	}
	return nil
}
