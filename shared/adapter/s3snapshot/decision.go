package s3snapshot

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Records are decisions with their inputs, and ends of instances.
type Records struct{ *objects }

// PutDecision stores a decision under its id. Putting it again replaces it.
func (s Records) PutDecision(ctx context.Context, decision model.Decision) error {
	return s.putRecord(ctx, decisionKey(decision.Cluster, Day(decision.AtUnix), decision.ID), decision)
}

// Decision reads a decision record of a day, as Day names it. NotFound where there is none.
func (s Records) Decision(ctx context.Context, cluster, day, id string) (model.Decision, error) {
	return readRecord[model.Decision](ctx, s.objects, decisionKey(cluster, day, id))
}

// PutDisruption stores a decision about disruption under its id. Putting it again replaces it.
func (s Records) PutDisruption(ctx context.Context, decision model.Disrupted) error {
	return s.putRecord(ctx, disruptionKey(decision.Cluster, Day(decision.AtUnix), decision.ID), decision)
}

// Disruption reads a decision record about disruption of a day, as Day names it. NotFound where there is none.
func (s Records) Disruption(ctx context.Context, cluster, day, id string) (model.Disrupted, error) {
	return readRecord[model.Disrupted](ctx, s.objects, disruptionKey(cluster, day, id))
}

// PutRemoval stores the record of an instance's end under its claim's name and the day it was closed. Putting it again
// replaces it.
func (s Records) PutRemoval(ctx context.Context, removal model.Removal) error {
	return s.putRecord(ctx, removalKey(removal.Cluster, Day(removal.GoneUnix), removal.Claim.Name), removal)
}

// AddRemoval is PutRemoval where there is no record of that claim and day, and else nothing.
func (s Records) AddRemoval(ctx context.Context, removal model.Removal) error {
	err := s.writeRecord(ctx, removalKey(removal.Cluster, Day(removal.GoneUnix), removal.Claim.Name), removal,
		aws.String("*"))
	if fault.Is(err, fault.Conflict) {
		return nil
	}
	return err
}

// Removal reads the record of an instance's end of a day, as Day names it. NotFound where there is none.
func (s Records) Removal(ctx context.Context, cluster, day, claim string) (model.Removal, error) {
	return readRecord[model.Removal](ctx, s.objects, removalKey(cluster, day, claim))
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
