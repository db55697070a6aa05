package s3snapshot

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	maxDecisionBytes         = 16 << 20  // as stored
	maxDecisionExpandedBytes = 256 << 20 // unpacked
)

// Put stores a decision under its id. Putting it again replaces it.
func (s *Store) Put(ctx context.Context, decision model.Decision) error {
	text, err := json.Marshal(decision)
	if err != nil {
		return fault.Wrap(fault.Invalid, "", err, "encode decision %s", decision.ID)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		return fault.Wrap(fault.Internal, "", err, "compress decision %s", decision.ID)
	}
	if err := zip.Close(); err != nil {
		return fault.Wrap(fault.Internal, "", err, "compress decision %s", decision.ID)
	}
	if packed.Len() > maxDecisionBytes {
		return fault.New(fault.Invalid, "TooLarge", "decision %s has %d bytes, at most %d are kept", decision.ID, packed.Len(), maxDecisionBytes)
	}
	key := decisionKey(decision.Cluster, Day(decision.AtUnix), decision.ID)
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(packed.Bytes()), ContentLength: aws.Int64(int64(packed.Len())),
		ContentType: aws.String("application/json"), ContentEncoding: aws.String("gzip"),
	})
	return translate(err, "write s3://%s/%s", s.bucket, key)
}

// Decision reads a decision record of a day, as Day names it. NotFound where there is none.
func (s *Store) Decision(ctx context.Context, cluster, day, id string) (model.Decision, error) {
	var decision model.Decision
	key := decisionKey(cluster, day, id)
	data, err := s.get(ctx, key, maxDecisionBytes)
	if err != nil {
		return decision, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return decision, fault.Wrap(fault.Invalid, "Malformed", err, "decompress s3://%s/%s", s.bucket, key)
	}
	if err := json.NewDecoder(io.LimitReader(zip, maxDecisionExpandedBytes)).Decode(&decision); err != nil {
		return model.Decision{}, fault.Wrap(fault.Invalid, "Malformed", err, "decode s3://%s/%s", s.bucket, key)
	}
	return decision, nil
}

// Day names the UTC day of a decision's time, such as 2026-11-20.
func Day(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.DateOnly) }

func decisionKey(cluster, day, id string) string {
	return fmt.Sprintf("decisions/%s/%s/%s.json.gz", cluster, day, id)
}
