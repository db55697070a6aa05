package dynamodb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
)

func (w *world) expire(t testing.TB, enabled bool) error {
	_, err := w.UpdateTimeToLive(t.Context(), &sdk.UpdateTimeToLiveInput{
		TableName: aws.String("ledger"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: aws.Bool(enabled)},
	})
	return err
}

// at returns the epoch second this long after the start.
func at(d time.Duration) types.AttributeValue { return num(fmt.Sprint(start.Add(d).Unix())) }

func TestExpiredItemsStayUntilTheyAreDeletedLate(t *testing.T) {
	w := newWorld(t)
	w.model.SetLags(dynamodb.Lags{Expiry: time.Hour})
	w.put(t, with(key("p", "before"), "ttl", at(time.Minute), "g1pk", str("DUE"), "g1sk", str("1")))
	if err := w.expire(t, true); err != nil {
		t.Fatal(err)
	}
	w.put(t, with(key("p", "after"), "ttl", at(time.Minute)))
	w.put(t, with(key("p", "forever"), "v", num("1")))
	w.put(t, with(key("p", "text"), "ttl", str("1")))
	w.put(t, with(key("p", "ancient"), "ttl", num("1000")))
	w.clock.Advance(time.Hour + time.Minute - time.Second)
	if w.get(t, "p", "before") == nil || w.get(t, "p", "after") == nil {
		t.Fatal("items went before the lag was over")
	}
	w.clock.Advance(time.Second)
	out, err := w.Query(t.Context(), query("pk = :a", "p"))
	if err != nil || sortKeys(out.Items) != "ancient forever text" {
		t.Errorf("left %q, %v; want ancient forever text", sortKeys(out.Items), err)
	}
	if got := w.due(t, "DUE").Count; got != 0 {
		t.Errorf("the index still holds %d expired items", got)
	}
}

func TestPostponedItemsLive(t *testing.T) {
	w := newWorld(t)
	w.model.SetLags(dynamodb.Lags{})
	if err := w.expire(t, true); err != nil {
		t.Fatal(err)
	}
	w.put(t, with(key("p", "a"), "ttl", at(time.Minute)))
	w.put(t, with(key("p", "a"), "ttl", at(time.Hour)))
	w.put(t, with(key("p", "b"), "ttl", at(time.Minute)))
	w.put(t, key("p", "b"))
	w.clock.Advance(2 * time.Minute)
	if w.get(t, "p", "a") == nil || w.get(t, "p", "b") == nil {
		t.Error("an item went at an end it no longer has")
	}
	w.clock.Advance(time.Hour)
	if w.get(t, "p", "a") != nil {
		t.Error("the item outlived its new end")
	}
}

func TestTimeToLiveSettingChangesAtMostHourly(t *testing.T) {
	w := newWorld(t)
	describe := func() string {
		out, err := w.DescribeTimeToLive(t.Context(), &sdk.DescribeTimeToLiveInput{TableName: aws.String("ledger")})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(out.TimeToLiveDescription.TimeToLiveStatus, " ", aws.ToString(out.TimeToLiveDescription.AttributeName))
	}
	if got := describe(); got != "DISABLED " {
		t.Errorf("at first %q", got)
	}
	wantError(t, w.expire(t, false), "ValidationException", "TimeToLive is already disabled")
	if err := w.expire(t, true); err != nil {
		t.Fatal(err)
	}
	if got := describe(); got != "ENABLED ttl" {
		t.Errorf("then %q", got)
	}
	wantError(t, w.expire(t, true), "ValidationException", "TimeToLive is already enabled")
	wantError(t, w.expire(t, false), "ValidationException", "Time to live has been modified multiple times within a fixed interval")
	w.clock.Advance(time.Hour)
	if err := w.expire(t, false); err != nil {
		t.Error(err)
	}
}
