package relay

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	answerLife = 5 * time.Minute // a queue's visibility timeout and a request's age are far less
	// of a sealed answer in an item; a write costs a unit for each KB, and an object five
	maxInlineBytes = 32 << 10
)

// Answers keeps what became of requests in the ledger's table and in the bucket. It may be used from many goroutines.
type Answers struct {
	table   *dynamodb.Client
	name    string
	objects *s3.Client
	bucket  string
	now     func() time.Time
}

// NewAnswers returns the answers in a table and a bucket.
func NewAnswers(table *dynamodb.Client, name string, objects *s3.Client, bucket string) *Answers {
	return &Answers{table: table, name: name, objects: objects, bucket: bucket, now: time.Now}
}

type item = map[string]types.AttributeValue

// keyOf spreads answers over sixteen partitions, all of which begin with what the cluster's roles are held to.
func keyOf(cluster, id string) item {
	return item{"PK": text("C#" + cluster + "#R#" + id[:1]), "SK": text("ANSWER#" + id)}
}

func objectOf(cluster, id, digest string) string {
	return fmt.Sprintf("relay/%s/%s/%.16s", cluster, id, digest)
}

func text(value string) types.AttributeValue { return &types.AttributeValueMemberS{Value: value} }

func (a *Answers) entry(r *wire.RelayRequest, digest string) item {
	entry := keyOf(r.Cluster, r.ID)
	entry["digest"] = text(digest)
	entry["ttl"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(a.now().Add(answerLife).Unix(), 10)}
	return entry
}

// Start records that the request is about to be carried out. Conflict where it was taken or answered before, by
// whoever; after Internal that is unknown.
func (a *Answers) Start(ctx context.Context, r wire.RelayRequest, digest string) error {
	_, err := a.table.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &a.name, Item: a.entry(&r, digest), ConditionExpression: aws.String("attribute_not_exists(PK)"),
	})
	return translate(err, "claim request %s of cluster %s", r.ID, r.Cluster)
}

// Store stores the answer, where none is stored and nobody but who has this digest took the request; else Conflict.
func (a *Answers) Store(ctx context.Context, r wire.RelayRequest, digest string, answer wire.RelayAnswer) error {
	nonce := make([]byte, wire.RelayNonceBytes)
	rand.Read(nonce) // it never fails
	sealed, err := wire.SealRelayAnswer(answer, r.ID, r.Key, nonce)
	if err != nil {
		return err
	}
	entry := a.entry(&r, digest)
	if len(sealed) <= maxInlineBytes {
		entry["answer"] = &types.AttributeValueMemberB{Value: sealed}
	} else {
		key := objectOf(r.Cluster, r.ID, digest)
		if err := a.upload(ctx, key, sealed); err != nil {
			return err
		}
		entry["object"] = text(key)
	}
	_, err = a.table.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &a.name, Item: entry,
		ConditionExpression: aws.String("attribute_not_exists(PK) OR (digest = :digest AND" +
			" attribute_not_exists(answer) AND attribute_not_exists(#object))"),
		ExpressionAttributeNames:  map[string]string{"#object": "object"},
		ExpressionAttributeValues: item{":digest": text(digest)},
	})
	return translate(err, "store the answer to request %s of cluster %s", r.ID, r.Cluster)
}

func (a *Answers) upload(ctx context.Context, key string, data []byte) error {
	_, err := a.objects.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &a.bucket, Key: &key, Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))),
		ContentType: aws.String("application/octet-stream"),
	})
	return translate(err, "write s3://%s/%s", a.bucket, key)
}

// state is what is known of a request.
type state struct {
	taken  bool
	sealed []byte // the answer; nil = none yet
	object string // where it is, if not here
	err    error
}

// read looks for the answers to at most 100 requests of one cluster, by their ids. Those nothing is known of are
// absent.
func (a *Answers) read(ctx context.Context, cluster string, ids []string) (map[string]state, error) {
	keys := make([]item, len(ids))
	for i, id := range ids {
		keys[i] = keyOf(cluster, id)
	}
	out, err := a.table.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
		a.name: {Keys: keys, ConsistentRead: aws.Bool(true)},
	}})
	if err != nil {
		return nil, translate(err, "read answers of cluster %s", cluster)
	}
	found := map[string]state{} // what was left out for size is asked for again with the next check
	for _, entry := range out.Responses[a.name] {
		sk, ok := entry["SK"].(*types.AttributeValueMemberS)
		if !ok || len(sk.Value) < len("ANSWER#") {
			continue
		}
		known := state{taken: true}
		if sealed, ok := entry["answer"].(*types.AttributeValueMemberB); ok {
			known.sealed = sealed.Value
		}
		if object, ok := entry["object"].(*types.AttributeValueMemberS); ok {
			known.object = object.Value
		}
		found[sk.Value[len("ANSWER#"):]] = known
	}
	return found, nil
}

// open returns the answer that a state has.
func (a *Answers) open(ctx context.Context, s state, r *wire.RelayRequest) (wire.RelayAnswer, error) {
	sealed := s.sealed
	if s.object != "" {
		var err error
		if sealed, err = a.download(ctx, s.object); err != nil {
			return wire.RelayAnswer{}, err
		}
	}
	return wire.OpenRelayAnswer(sealed, r.ID, r.Key)
}

func (a *Answers) download(ctx context.Context, key string) ([]byte, error) {
	out, err := a.objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &a.bucket, Key: &key})
	if err != nil {
		return nil, translate(err, "read s3://%s/%s", a.bucket, key)
	}
	defer out.Body.Close()
	data, err := io.ReadAll(io.LimitReader(out.Body, wire.MaxRelayAnswerBytes+1))
	if err == nil && len(data) > wire.MaxRelayAnswerBytes {
		return nil, fault.New(fault.Invalid, "TooLarge", "s3://%s/%s has more than %d bytes", a.bucket, key,
			wire.MaxRelayAnswerBytes)
	}
	return data, translate(err, "read s3://%s/%s", a.bucket, key)
}
