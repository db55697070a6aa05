package main

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
)

// Replay makes a recorded decision once more, as joiner replay does.
func (a *accountSource) Replay(ctx context.Context, id string) (console.Replayed, error) {
	again := replayFlags{recordFlags: recordFlags{region: a.from.place.region, name: a.reg.Cluster}}
	answer, err := again.replay(ctx, id, nil)
	if err != nil {
		return console.Replayed{}, err
	}
	lines := slices.DeleteFunc(answer.differences(), func(line string) bool { return line == "" })
	return console.Replayed{Identical: answer.Identical, Recorded: answer.Build, Build: answer.By, Differences: lines}, nil
}
