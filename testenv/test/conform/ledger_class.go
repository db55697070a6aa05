package conform

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func classNeedsVersion(t *testing.T, b book) {
	record := model.ClassRecord{
		Name: "default", UID: "u1", Inputs: "digest", Checked: ledgerBegin,
		Status: model.ClassStatus{
			ObservedGeneration: 3, ResolvedUnix: ledgerBegin, InstanceProfile: "nodes",
			Subnets:  []model.Subnet{{ID: "subnet-1", Zone: "us-west-2a", FreeAddresses: 12}},
			Problems: []model.ClassProblem{{Condition: "AMIsReady", Reason: "AMINotFound", Message: "no image"}},
		},
		Profiles: []model.LeftProfile{{Name: "before", SinceUnix: ledgerBegin}},
	}
	first, err := b.PutClass(b.ctx(), "web", record)
	b.must(err)
	record.Version = 1
	if !reflect.DeepEqual(first, record) {
		t.Errorf("written %+v, want version 1 of it", first)
	}
	stale := record
	stale.Version = 0
	_, err = b.PutClass(b.ctx(), "web", stale)
	b.want(fault.Conflict, "a record where there is one", err)
	first.Status.Problems = nil
	second, err := b.PutClass(b.ctx(), "web", first)
	b.must(err)
	_, err = b.PutClass(b.ctx(), "web", first)
	b.want(fault.Conflict, "a record at an old version", err)
	_, err = b.PutClass(b.ctx(), "web", model.ClassRecord{Name: "another", UID: "u2"})
	b.must(err)
	kept := b.load().Classes
	if len(kept) != 2 || kept[0].Name != "another" || !reflect.DeepEqual(kept[1], second) {
		t.Errorf("loaded %+v", kept)
	}
	b.want(fault.Conflict, "drop at an old version", b.DeleteClass(b.ctx(), "web", first))
	b.must(b.DeleteClass(b.ctx(), "web", second))
	b.must(b.DeleteClass(b.ctx(), "web", second))
	if kept := b.load().Classes; len(kept) != 1 || kept[0].Name != "another" {
		t.Errorf("after the drop %+v", kept)
	}
}
