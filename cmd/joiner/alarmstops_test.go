package main

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// M87: what an alarm stops is listed beside what people stop, as joiner-disrupt wrote it down, and goes with its next
// run.
func TestM87StopsListWhatAlarmsStop(t *testing.T) {
	ledger := ledgerOf(t, threeClusters...)
	now := time.Now().Unix()
	fence, err := ledger.AcquireLease(t.Context(), "shop", model.LeaseDisrupt, "run", now, now+60)
	if err != nil {
		t.Fatal(err)
	}
	notes := model.DisruptNotes{AtUnix: now, Alarms: []model.AlarmStop{
		{Pool: "web", Alarm: "errors", On: true, Why: `CloudWatch alarm "errors" is in state ALARM`, SinceUnix: now},
	}}
	if notes, err = ledger.Recall(t.Context(), fence, notes); err != nil {
		t.Fatal(err)
	}
	const want = `pool shop web CloudWatch alarm "errors" is in state ALARM`
	if got := stopsOf(t, "--cluster", "shop"); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := stopsOf(t, "--cluster", "web"); len(got) != 0 {
		t.Errorf("of another cluster: %q", got)
	}
	notes.Alarms = nil
	if _, err = ledger.Recall(t.Context(), fence, notes); err != nil {
		t.Fatal(err)
	}
	if got := stopsOf(t); len(got) != 0 {
		t.Errorf("after the alarm: %q", got)
	}
}
