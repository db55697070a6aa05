package work

import (
	"errors"
	"strings"
	"testing"
)

func TestA10WhatCannotBeReadBeforeTheChartIsSkipped(t *testing.T) {
	down := errors.New("forbidden")
	for name, c := range map[string]struct {
		never, relayed bool
		err            error
		skipped        string // a part of it; empty = it is not skipped
		tried          bool
	}{
		"it can be read":                   {never: true, tried: true},
		"it cannot":                        {never: true, err: down, skipped: "cannot read it: forbidden", tried: true},
		"nobody relays":                    {never: true, relayed: true, err: down, skipped: "or relays"},
		"a watcher was here":               {err: down, tried: true},
		"a watcher was here, which relays": {relayed: true, err: down, tried: true},
	} {
		tried := false
		skipped, err := ReadInstalled(func() bool { return c.never }, c.relayed, func() error { tried = true; return c.err })
		if want := c.err != nil && c.skipped == ""; want != (err != nil) || (skipped == "") != (c.skipped == "") || !strings.Contains(skipped, c.skipped) || tried != c.tried {
			t.Errorf("%s: %q, %v, tried %t", name, skipped, err, tried)
		}
	}
}
