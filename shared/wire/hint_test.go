package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func pods(n int) []model.PodRef {
	out := make([]model.PodRef, n)
	for i := range out {
		out[i] = model.PodRef{Namespace: "default", Name: fmt.Sprintf("web-%06d", i), UID: fmt.Sprintf("6f1c2d3e-0000-4000-8000-%012d", i)}
	}
	return out
}

func TestHintSurvivesARoundTrip(t *testing.T) {
	want := Hint{Version: HintVersion, Cluster: "prod", Epoch: 3, Seq: 9, Number: 4, Reason: ReasonBatch, Pods: pods(3), SentAtMillis: 1_800_000_000_123}
	data, err := EncodeHint(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeHint(data)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestHintIsCutToItsLimitsAndSaysByHowMuch(t *testing.T) {
	long := pods(4_000)
	for i := range long {
		long[i].Name = strings.Repeat("x", 240) + fmt.Sprint(i)
	}
	for name, list := range map[string][]model.PodRef{"many": pods(MaxHintPods + 7), "long": long} {
		t.Run(name, func(t *testing.T) {
			data, err := EncodeHint(Hint{Cluster: "prod", Reason: ReasonBatch, Pods: list})
			if err != nil {
				t.Fatal(err)
			}
			got, err := DecodeHint(data)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > MaxHintBytes || len(got.Pods)+got.Omitted != len(list) || got.Omitted == 0 || len(got.Pods) < 2_800 {
				t.Fatalf("%d bytes, %d pods, %d omitted of %d", len(data), len(got.Pods), got.Omitted, len(list))
			}
		})
	}
}

func TestHintEntryTakesAtMostAKilobyte(t *testing.T) {
	entry := model.PodRef{Namespace: strings.Repeat("n", maxNamespaceBytes), Name: strings.Repeat("p", maxNameBytes), UID: strings.Repeat("u", maxUIDBytes)}
	data, err := json.Marshal(entry)
	if err != nil || len(data) > 1_000 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
}

func TestHintIgnoresFieldsOfLaterReleases(t *testing.T) {
	got, err := DecodeHint([]byte(`{"v":1,"cluster":"prod","reason":"node","colour":"red","pods":[{"ns":"a","name":"b","uid":"c","mood":1}]}`))
	if err != nil || got.Reason != ReasonNode || len(got.Pods) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestDecodeHintRefuses(t *testing.T) {
	cases := map[string]string{
		"no JSON":         `hello`,
		"no object":       `[]`,
		"no version":      `{"cluster":"prod","reason":"batch"}`,
		"newer version":   `{"v":2,"cluster":"prod","reason":"batch"}`,
		"no cluster":      `{"v":1,"reason":"batch"}`,
		"long cluster":    `{"v":1,"cluster":"` + strings.Repeat("x", 101) + `","reason":"batch"}`,
		"unknown reason":  `{"v":1,"cluster":"prod","reason":"because"}`,
		"odd tick":        `{"v":1,"cluster":"prod","reason":"sweep","tick":"a b"}`,
		"negative seq":    `{"v":1,"cluster":"prod","reason":"batch","seq":-1}`,
		"long pod name":   `{"v":1,"cluster":"prod","reason":"batch","pods":[{"ns":"a","name":"` + strings.Repeat("x", 254) + `"}]}`,
		"number too wide": `{"v":1,"cluster":"prod","reason":"batch","seq":99999999999999999999}`,
		"too large":       `{"v":1,"cluster":"prod","reason":"batch"}` + strings.Repeat(" ", MaxHintBytes),
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := DecodeHint([]byte(body)); !fault.Is(err, fault.Invalid) {
				t.Fatalf("got %v, want Invalid", err)
			}
		})
	}
}

func TestTwoHintsNeverShareADedupID(t *testing.T) {
	one := Hint{Epoch: 1, Seq: 2, Reason: ReasonBatch, Number: 3}
	seen := map[string]bool{one.DedupID(): true}
	for _, h := range []Hint{
		{Epoch: 2, Seq: 2, Reason: ReasonBatch, Number: 3},
		{Epoch: 1, Seq: 3, Reason: ReasonBatch, Number: 3},
		{Epoch: 1, Seq: 2, Reason: ReasonNode, Number: 3},
		{Epoch: 1, Seq: 2, Reason: ReasonBatch, Number: 4},
		{Epoch: 1, Seq: 2, Reason: ReasonBatch, Number: 3, Tick: "2026-11-20T12:00:00Z"},
		{Epoch: math.MaxInt64, Seq: math.MaxInt64, Reason: ReasonHeartbeat, Number: math.MaxInt64, Tick: strings.Repeat("t", maxTickBytes)},
	} {
		if seen[h.DedupID()] || len(h.DedupID()) > 128 {
			t.Errorf("%s is taken or too long", h.DedupID())
		}
		seen[h.DedupID()] = true
	}
}
