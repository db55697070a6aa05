package dynamoledger

import (
	"context"
	"time"
)

// Hints are when the hints arrive that are passed on to other functions.
type Hints struct{ *table }

// maxAheadMillis is how far ahead a time of arrival may lie to be believed: whoever wrote a later one had a clock that
// is ahead.
const maxAheadMillis = 60_000

// ScheduleHint says when a hint of a cluster about what should arrive, so that it is apartMillis behind the last one:
// after that time, in whole seconds as queues count them. False where the last one has not arrived yet, which says the
// same. Of two who ask at once one gets true.
func (h Hints) ScheduleHint(ctx context.Context, cluster, what string, nowMillis,
	apartMillis int64) (after time.Duration, due bool, err error) {
	last, won, err := h.arrive(ctx, cluster, what, nowMillis,
		"attribute_not_exists(#at) OR #at <= :passed OR #at > :far", item{
			":passed": number(nowMillis - apartMillis), ":far": number(nowMillis + maxAheadMillis),
		})
	if err != nil || won {
		return 0, won, err
	}
	if last > nowMillis {
		return 0, false, nil
	}
	after = (time.Duration(last+apartMillis-nowMillis)*time.Millisecond + time.Second - 1).Truncate(time.Second)
	_, won, err = h.arrive(ctx, cluster, what, nowMillis+after.Milliseconds(), "#at = :last",
		item{":last": number(last)})
	return after, won, err
}

// arrive writes when the next hint arrives on a condition about when the last one did, which is returned where the
// condition fails.
func (h Hints) arrive(ctx context.Context, cluster, what string, atMillis int64, condition string,
	values item) (last int64, won bool, err error) {
	values[":at"] = number(atMillis)
	input := h.update(key(clusterPK(cluster), hintSK+what), "SET #at = :at", condition, values)
	input.ReturnValuesOnConditionCheckFailure = returnOld
	_, err = h.client.UpdateItem(ctx, input)
	if there, failed := unmet(err); failed {
		return numberOf(there, "at"), false, nil
	}
	return 0, err == nil, translate(err, "record when the hint about %s of cluster %s arrives", what, cluster)
}
