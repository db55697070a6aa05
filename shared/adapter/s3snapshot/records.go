package s3snapshot

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/oklog/ulid/v2"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	readers   = 16         // records read at once
	daySecond = 24 * 3600  // seconds of a day
	disrupt   = "disrupt-" // begins the ids of decisions about disruption
	extension = ".json.gz"
)

// Decisions reads the records of decisions to provision taken from fromUnix up to and without toUnix, in the order of
// their ids, which is that of their times. What they were asked is left out: Decision has it. Reading needs
// s3:ListBucket beside s3:GetObject.
func (s Records) Decisions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Decision, error) {
	keys, err := s.recordKeys(ctx, "decisions/", cluster, fromUnix, toUnix,
		func(id string) bool { return !strings.HasPrefix(id, disrupt) })
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s.objects, keys, func(d *model.Decision) bool {
		d.Input = nil
		for i := range d.Rounds {
			d.Rounds[i].Input = nil
		}
		return fromUnix <= d.AtUnix && d.AtUnix < toUnix
	})
}

// Disruptions reads the records of decisions about disruption, otherwise as Decisions does.
func (s Records) Disruptions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Disrupted, error) {
	keys, err := s.recordKeys(ctx, "decisions/", cluster, fromUnix, toUnix,
		func(id string) bool { return strings.HasPrefix(id, disrupt) })
	if err != nil {
		return nil, err
	}
	return readAll(ctx, s.objects, keys, func(d *model.Disrupted) bool {
		d.Recorded, d.Input = nil, nil
		return fromUnix <= d.AtUnix && d.AtUnix < toUnix
	})
}

// Removals reads the records of instances closed from fromUnix up to and without toUnix, by time, then by name.
func (s Records) Removals(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Removal, error) {
	keys, err := s.recordKeys(ctx, "removals/", cluster, fromUnix, toUnix, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	removals, err := readAll(ctx, s.objects, keys,
		func(r *model.Removal) bool { return fromUnix <= r.GoneUnix && r.GoneUnix < toUnix })
	slices.SortStableFunc(removals, func(a, b model.Removal) int { return int(a.GoneUnix - b.GoneUnix) })
	return removals, err
}

// FindDecision reads a decision to provision by its id alone, which says its day. NotFound where there is none.
func (s Records) FindDecision(ctx context.Context, cluster, id string) (model.Decision, error) {
	return find(id, func(day string) (model.Decision, error) { return s.Decision(ctx, cluster, day, id) })
}

// FindDisruption reads a decision about disruption by its id alone, which says its day. NotFound where there is none.
func (s Records) FindDisruption(ctx context.Context, cluster, id string) (model.Disrupted, error) {
	return find(id, func(day string) (model.Disrupted, error) { return s.Disruption(ctx, cluster, day, id) })
}

// find tries the day of an id and, since the clocks that made id and record are not one, those around it.
func find[T any](id string, read func(day string) (T, error)) (out T, err error) {
	parsed, err := ulid.ParseStrict(id)
	if err != nil {
		return out, fault.Wrap(fault.Invalid, "", err, "%q is not the id of a decision", id)
	}
	at := int64(parsed.Time() / 1000)
	for _, unix := range []int64{at, at + daySecond, at - daySecond} {
		if out, err = read(Day(unix)); !fault.Is(err, fault.NotFound) {
			return out, err
		}
	}
	return out, err
}

// recordKeys lists the keys of the days of a span, in order.
func (s Records) recordKeys(ctx context.Context, prefix, cluster string, fromUnix, toUnix int64,
	wanted func(id string) bool) ([]string, error) {
	var keys []string
	for day := fromUnix - fromUnix%daySecond; day < toUnix; day += daySecond {
		folder := prefix + cluster + "/" + Day(day) + "/"
		err := s.list(ctx, &s3.ListObjectsV2Input{Prefix: &folder}, func(o types.Object) bool {
			key := aws.ToString(o.Key)
			if id, known := strings.CutSuffix(strings.TrimPrefix(key, folder), extension); known && wanted(id) {
				keys = append(keys, key)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// readAll reads records side by side and returns those that are wanted, in the order of their keys. One that was
// deleted since it was listed is left out.
func readAll[T any](ctx context.Context, b *objects, keys []string, want func(*T) bool) ([]T, error) {
	read, errs := make([]T, len(keys)), make([]error, len(keys))
	wanted := make([]bool, len(keys))
	var wg sync.WaitGroup
	free := make(chan struct{}, readers)
	for i := range keys {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			if read[i], errs[i] = readRecord[T](ctx, b, keys[i]); errs[i] == nil {
				wanted[i] = want(&read[i])
			}
		})
	}
	wg.Wait()
	var out []T
	for i := range read {
		switch {
		case fault.Is(errs[i], fault.NotFound):
		case errs[i] != nil:
			return nil, errs[i]
		case wanted[i]:
			out = append(out, read[i])
		}
	}
	return out, nil
}

// Recorded lists the decisions of either kind that are recorded under the days of a span, in the order of their ids,
// day by day. It reads none of them.
func (s Records) Recorded(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Recorded, error) {
	keys, err := s.recordKeys(ctx, "decisions/", cluster, fromUnix, toUnix, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	out := make([]model.Recorded, len(keys))
	for i, key := range keys {
		parts := strings.Split(strings.TrimSuffix(key, extension), "/")
		id, evaluated := strings.CutPrefix(parts[len(parts)-1], disrupt)
		out[i] = model.Recorded{ID: id, Kind: model.KindProvision, Day: parts[len(parts)-2]}
		if evaluated {
			out[i].Kind = model.KindDisrupt
		}
	}
	slices.SortStableFunc(out, func(a, b model.Recorded) int { return strings.Compare(a.Day+a.ID, b.Day+b.ID) })
	return out, nil
}

// Clusters names the clusters that decisions are recorded of, sorted.
func (s Records) Clusters(ctx context.Context) ([]string, error) { return s.folders(ctx, "decisions/") }
