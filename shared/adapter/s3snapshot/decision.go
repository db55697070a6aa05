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

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	maxDecisionBytes         = 16 << 20  // as stored
	maxDecisionExpandedBytes = 256 << 20 // unpacked
)

// PutDecision stores a decision under its id. Putting it again replaces it.
func (s *Store) PutDecision(ctx context.Context, decision model.Decision) error {
	return s.putRecord(ctx, decisionKey(decision.Cluster, Day(decision.AtUnix), decision.ID), decision)
}

// Decision reads a decision record of a day, as Day names it. NotFound where there is none.
func (s *Store) Decision(ctx context.Context, cluster, day, id string) (model.Decision, error) {
	return record[model.Decision](ctx, s, decisionKey(cluster, day, id))
}

// PutDisruption stores a decision about disruption under its id. Putting it again replaces it.
func (s *Store) PutDisruption(ctx context.Context, decision model.Disrupted) error {
	return s.putRecord(ctx, disruptionKey(decision.Cluster, Day(decision.AtUnix), decision.ID), decision)
}

// Disruption reads a decision record about disruption of a day, as Day names it. NotFound where there is none.
func (s *Store) Disruption(ctx context.Context, cluster, day, id string) (model.Disrupted, error) {
	return record[model.Disrupted](ctx, s, disruptionKey(cluster, day, id))
}

// PutRemoval stores the record of an instance's end under its claim's name and the day it was closed. Putting it again replaces it.
func (s *Store) PutRemoval(ctx context.Context, removal model.Removal) error {
	return s.putRecord(ctx, removalKey(removal.Cluster, Day(removal.GoneUnix), removal.Claim.Name), removal)
}

// AddRemoval is PutRemoval where there is no record of that claim and day, and else nothing.
func (s *Store) AddRemoval(ctx context.Context, removal model.Removal) error {
	err := s.writeRecord(ctx, removalKey(removal.Cluster, Day(removal.GoneUnix), removal.Claim.Name), removal, aws.String("*"))
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// Removal reads the record of an instance's end of a day, as Day names it. NotFound where there is none.
func (s *Store) Removal(ctx context.Context, cluster, day, claim string) (model.Removal, error) {
	return record[model.Removal](ctx, s, removalKey(cluster, day, claim))
}

// putRecord stores a record, packed, in place of what is there.
func (s *Store) putRecord(ctx context.Context, key string, decision any) error {
	return s.writeRecord(ctx, key, decision, nil)
}

// writeRecord stores a record, packed. Where unless is "*" it is a Conflict that something is there.
func (s *Store) writeRecord(ctx context.Context, key string, decision any, unless *string) error {
	text, err := json.Marshal(decision)
	if err != nil {
		return fault.Wrap(fault.Invalid, "", err, "encode %s", key)
	}
	packed := new(wire.Compressor).Compress(text)
	if len(packed) > maxDecisionBytes {
		return fault.New(fault.Invalid, "TooLarge", "%s would have %d bytes, at most %d are kept", key, len(packed), maxDecisionBytes)
	}
	_, err = s.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(packed), ContentLength: aws.Int64(int64(len(packed))),
		ContentType: aws.String("application/json"), ContentEncoding: aws.String("gzip"), IfNoneMatch: unless,
	}, repeatConflicts)
	return sdkerr.WrapStatus(err, "write s3://%s/%s", s.bucket, key)
}

// record reads a record.
func record[T any](ctx context.Context, s *Store, key string) (decision T, err error) {
	data, err := s.get(ctx, key, maxDecisionBytes)
	if err != nil {
		return decision, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return decision, fault.Wrap(fault.Invalid, "Malformed", err, "decompress s3://%s/%s", s.bucket, key)
	}
	if err := json.NewDecoder(io.LimitReader(zip, maxDecisionExpandedBytes)).Decode(&decision); err != nil {
		var none T
		return none, fault.Wrap(fault.Invalid, "Malformed", err, "decode s3://%s/%s", s.bucket, key)
	}
	return decision, nil
}

// Day names the UTC day of a decision's time, such as 2026-11-20.
func Day(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.DateOnly) }

func decisionKey(cluster, day, id string) string {
	return fmt.Sprintf("decisions/%s/%s/%s.json.gz", cluster, day, id)
}

func disruptionKey(cluster, day, id string) string {
	return fmt.Sprintf("decisions/%s/%s/disrupt-%s.json.gz", cluster, day, id)
}

func removalKey(cluster, day, claim string) string {
	return fmt.Sprintf("removals/%s/%s/%s.json.gz", cluster, day, claim)
}
