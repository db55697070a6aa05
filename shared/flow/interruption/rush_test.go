package interruption_test

import (
	"context"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/world"
)

// asking is a notebook in which, survey by survey, more of the claims have what their pods need asked of EC2.
type asking struct {
	interruption.Notebook
	each    int // claims more with each survey
	surveys int
}

func (a *asking) Survey(ctx context.Context, reg model.Registration) (model.Survey, error) {
	survey, err := a.Notebook.Survey(ctx, reg)
	a.surveys++
	survey.Notes.Replaced = nil
	for i := range min(len(survey.Claims), a.each*(a.surveys-1)) {
		survey.Notes.Replaced = append(survey.Notes.Replaced, survey.Claims[i].Name)
	}
	return survey, err
}

// rush is a world in which more ends begin at once than are emptied one by one, and no hint is left.
func rush(t *testing.T, claims int) *world.World {
	t.Helper()
	w := house(t, claims, world.Options{}, nil)
	for _, claim := range load(t, w).Claims {
		end(t, w, claim, model.EndedSpotInterrupted, 0)
	}
	for w.Looks.Len() > 0 {
		messages, err := w.Looks.Receive(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := w.Looks.Delete(t.Context(), m.Receipt); err != nil {
				t.Fatal(err)
			}
		}
	}
	return w
}

// C1: while drains of a rush wait for what their pods need, the run that empties the first of them comes back to the others, rather
// than that each of them waits for another invocation.
func TestC1_ARunComesBackToDrainsThatWaited(t *testing.T) {
	const claims = 24
	w := rush(t, claims)
	book := &asking{each: 8}
	var sum totals
	err := sum.drain(t, w, interruption.Request{}, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		book.Notebook, flow.Notebook = flow.Notebook, book
		book.surveys = 1 // as if provision had noted the first
	})
	if err != nil || sum.Evicted != claims {
		t.Errorf("%d pods of %d were asked to leave after %d surveys: %v %v", sum.Evicted, claims, book.surveys-1, err, sum.errs)
	}
	if w.Looks.Len() != 1 {
		t.Errorf("%d messages, want one for the next step", w.Looks.Len())
	}
}

// C1: a run that finds only drains that wait asks for the one that comes when they need wait no longer: no other hint may be left.
func TestC1_DrainsThatWaitAreNotForgotten(t *testing.T) {
	const claims = 24
	w := rush(t, claims)
	var sum totals
	nobody := func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		flow.Notebook = &asking{Notebook: flow.Notebook}
	}
	if err := sum.drain(t, w, interruption.Request{}, nobody); err != nil || sum.Evicted != 0 {
		t.Fatalf("%d pods were asked to leave before anything was asked of EC2: %v", sum.Evicted, err)
	}
	for range 6 {
		sum.receive(t, w, nobody)
		w.Tick(1e9)
	}
	if sum.Evicted != claims {
		t.Errorf("%d pods of %d were asked to leave within 6 s", sum.Evicted, claims)
	}
}
