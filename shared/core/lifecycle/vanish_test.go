package lifecycle_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// Each case has one NodeClaim or Node that is being deleted, or is gone, and says as what it is found by the definitions.
func TestDeletionsAreObeyedWhileTheDefinitionsStand(t *testing.T) {
	const deleted, vanished = "ObjectDeleted default-old NodeClaimDeleted 0 false -", "Vanished default-old  0 false -"
	object := func(v *lifecycle.View) {
		v.Live.Objects[old].DeletedUnix, v.Live.Objects[old].CreatedUnix = now, now-5000
	}
	// Its claim was deleted by hand, and its instance adopted under another name while nobody could see the NodeClaim.
	outlived := func(v *lifecycle.View) {
		object(v)
		v.Live.Objects[old].Finalizer, v.Records.Claims[old].Name, v.Records.Claims[old].ObjectUID = true, "static-old", ""
	}
	without := func(v *lifecycle.View) { v.Live.Objects = v.Live.Objects[1:] }
	for name, c := range map[string]struct {
		change func(v *lifecycle.View)
		define func(d *model.Definitions)
		want   string
	}{
		"by people":                                                  {object, func(*model.Definitions) {}, deleted},
		"NodeClaims are going":                                       {object, func(d *model.Definitions) { d.Claims.Established, d.Claims.Going = false, true }, vanished},
		"NodePools are gone":                                         {object, func(d *model.Definitions) { d.Pools.Established = false }, vanished},
		"NodePools were defined anew":                                {object, func(d *model.Definitions) { d.Pools.CreatedUnix = now - 10 }, vanished},
		"it is younger than NodePools":                               {object, func(d *model.Definitions) { d.Pools.CreatedUnix = now - 5000 }, deleted},
		"EC2NodeClasses are going":                                   {object, func(d *model.Definitions) { d.Classes.Established = false }, deleted},
		"gone with its definition":                                   {without, func(d *model.Definitions) { d.Claims.CreatedUnix = now - 10 }, "Vanished default-old  30 false -"},
		"gone, and the definition there":                             {without, func(*model.Definitions) {}, "ObjectDeleted default-old NodeClaimDeleted 30 true -"},
		"its node, by people":                                        {func(v *lifecycle.View) { v.Live.Nodes[0].DeletedUnix = now }, func(*model.Definitions) {}, "NodeDeleted default-old NodeDeleted 0 false -"},
		"its node, by nobody":                                        {func(v *lifecycle.View) { v.Live.Nodes[0].DeletedUnix = now }, func(d *model.Definitions) { d.Claims.Established = false }, ""},
		"another claim has its machine":                              {outlived, func(d *model.Definitions) { d.Claims.Established = false }, "Outlived default-old  30 false -"},
		"another claim has its machine, and nobody has read on":      {outlived, nil, "Outlived default-old  30 false -"},
		"another claim has its machine, and the definition is there": {outlived, func(*model.Definitions) {}, ""},
		"another claim has its machine, and it is not held": {func(v *lifecycle.View) {
			outlived(v)
			v.Live.Objects[old].Finalizer = false
		}, func(d *model.Definitions) { d.Claims.Established = false }, ""},
		"recorded, and held still": {func(v *lifecycle.View) {
			object(v)
			v.Records.Claims[old].Vanished, v.Records.Claims[old].ObjectUID = true, ""
		}, nil, vanished},
		"made anew after it vanished, and deleted by people": {func(v *lifecycle.View) {
			object(v)
			v.Live.Objects[old].CreatedUnix = now - 5
			v.Records.Claims[old].Vanished, v.Records.Claims[old].ObjectUID = true, ""
		}, func(d *model.Definitions) { d.Claims.CreatedUnix, d.Pools.CreatedUnix = now-10, now-10 }, deleted},
		"held still from before its definition was made anew": {func(v *lifecycle.View) {
			object(v)
			v.Records.Claims[old].Vanished, v.Records.Claims[old].ObjectUID = true, ""
		}, func(d *model.Definitions) { d.Claims.CreatedUnix = now - 10 }, vanished},
		"ends already": {func(v *lifecycle.View) {
			object(v)
			v.Records.Claims[old].State, v.Records.Claims[old].Drain = model.Draining, &model.Drain{SinceUnix: now - 60}
		}, func(d *model.Definitions) { d.Pools.Established = false }, ""},
		"ends already, and its definition waits for it": {func(v *lifecycle.View) {
			object(v)
			v.Live.Objects[old].Finalizer = true
			v.Records.Claims[old].State, v.Records.Claims[old].Drain = model.Draining, &model.Drain{SinceUnix: now - 60}
		}, func(d *model.Definitions) { d.Claims.Established = false }, vanished},
	} {
		v := healthy()
		c.change(&v)
		if c.define != nil {
			stands := model.Definition{Established: true, CreatedUnix: now - 90_000}
			v.Definitions = &model.Definitions{Pools: stands, Claims: stands, Classes: stands}
			c.define(v.Definitions)
		}
		if got := found(v); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// A drain that has gone on for minutes holds its NodeClaim, whose definition may be waiting for it.
func TestDefinitionsAreReadForDrainsThatTakeLong(t *testing.T) {
	for age, want := range map[int64]bool{119: false, 120: true} {
		v := healthy()
		v.Live.Objects[old].DeletedUnix, v.Live.Objects[old].Finalizer = now, true
		v.Records.Claims[old].State, v.Records.Claims[old].Drain = model.Draining, &model.Drain{SinceUnix: now - age}
		if got := lifecycle.Obeys(v, nil); got != want {
			t.Errorf("%d s: %t", age, got)
		}
	}
}

// While NodeClaims are not defined what EC2 and the ledger say is found, and nothing of what a claim, its node or its NodePool lacks.
func TestM28WhatIsFoundWhileNodeClaimsAreNotDefined(t *testing.T) {
	ending := func(v *lifecycle.View, state model.ClaimState) {
		c := &v.Records.Claims[old]
		c.State, c.FailureCode, c.Drain = state, model.EndedSpotInterrupted, &model.Drain{SinceUnix: now - 60}
	}
	for name, c := range map[string]struct {
		change func(v *lifecycle.View)
		want   string
	}{
		"nothing":                   {func(*lifecycle.View) {}, ""},
		"its node left":             {func(v *lifecycle.View) { v.Live.Nodes = v.Live.Nodes[1:] }, ""},
		"its node is being deleted": {func(v *lifecycle.View) { v.Live.Nodes[0].DeletedUnix = now }, ""},
		"its node is not Ready": {func(v *lifecycle.View) {
			v.Live.Nodes[0].Ready = false
			v.Live.Nodes[0].Conditions = []model.NodeCondition{{Type: "Ready", Status: "False", SinceUnix: now - 9000}}
		}, ""},
		"it is older than it may get": {func(v *lifecycle.View) { v.Records.Claims[old].ExpireSeconds = seconds(1) }, ""},
		"its machine ended":           {func(v *lifecycle.View) { v.Instances[old].State = "terminated" }, "Ended default-old InstanceEnded 0 false -"},
		"its machine ended in its end": {func(v *lifecycle.View) {
			ending(v, model.Terminating)
			v.Instances[old].State = "terminated"
		}, "Ended default-old InstanceEnded 0 false -"},
		"its machine is to end":  {func(v *lifecycle.View) { ending(v, model.Terminating) }, "Retired default-old SpotInterrupted 0 false -"},
		"its node is emptied":    {func(v *lifecycle.View) { ending(v, model.Draining) }, ""},
		"its machine is stopped": {func(v *lifecycle.View) { v.Instances[old].State = "stopping" }, "Stopping default-old InstanceStopping 0 false -"},
		"spot, taken back":       {func(v *lifecycle.View) { v.Interrupted = takenBack(v.Records.Claims[old].InstanceID) }, "Interrupted default-old SpotInterrupted 0 false 85"},
		"nobody's, without a node": {func(v *lifecycle.View) {
			v.Records.Claims, v.Live.Nodes = v.Records.Claims[1:], v.Live.Nodes[1:]
		}, ""},
		"nobody's, which was to end": {func(v *lifecycle.View) {
			v.Records.Claims[old].State, v.Records.Claims[old].FailureCode = model.Gone, model.EndedExpired
			v.Live.Nodes = v.Live.Nodes[1:]
		}, "Orphan i-old  30 false -"},
	} {
		v := healthy()
		v.Live.Objects, v.Live.Undefined = nil, true
		c.change(&v)
		if got := found(v); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
