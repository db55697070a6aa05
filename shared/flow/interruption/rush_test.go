package interruption_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// asking is a notebook in which, read by read, more of the claims have what their pods need asked of EC2.
type asking struct {
	interruption.CollectorStore
	each  int // claims more with each read
	reads int
}

func (a *asking) Ending(ctx context.Context, reg model.Registration) (model.DrainInput, error) {
	ending, err := a.CollectorStore.Ending(ctx, reg)
	a.reads++
	ending.Notes.Replaced = nil
	for i := range min(len(ending.Claims), a.each*(a.reads-1)) {
		ending.Notes.Replaced = append(ending.Notes.Replaced, ending.Claims[i].Name)
	}
	return ending, err
}

// rush is a world in which more ends begin at once than are emptied one by one, and no hint is left.
func rush(t *testing.T, claims int) *world.World {
	t.Helper()
	w := house(t, claims, world.Options{}, nil)
	for _, claim := range load(t, w).Claims {
		end(t, w, claim, model.EndedSpotInterrupted, 0)
	}
	for w.Passes.Len() > 0 {
		messages, err := w.Passes.Receive(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages {
			if err := w.Passes.Delete(t.Context(), m.Receipt); err != nil {
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
		book.CollectorStore, flow.Collector = flow.Collector, book
		book.reads = 1 // as if provision had noted the first
	})
	if err != nil || sum.Evicted != claims {
		t.Errorf("%d pods of %d were asked to leave after %d reads of the ledger: %v %v", sum.Evicted, claims, book.reads-1, err, sum.errs)
	}
	if w.Passes.Len() != 1 {
		t.Errorf("%d messages, want one for the next step", w.Passes.Len())
	}
}

// C1: a run that finds only drains that wait asks for the one that comes when they need wait no longer: no other hint may be left.
func TestC1_DrainsThatWaitAreNotForgotten(t *testing.T) {
	const claims = 24
	w := rush(t, claims)
	var sum totals
	nobody := func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		flow.Collector = &asking{CollectorStore: flow.Collector}
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

// counting is an API server that counts how nodes are read.
type counting struct {
	port.Connector[interruption.Clients]
	counts *reads
}

type reads struct {
	mutex    sync.Mutex
	together int            // calls
	alone    map[string]int // calls, by node
	without  string         // a node that cannot be read with others
	err      error          // of reading together
}

func (c counting) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := c.Connector.Connect(ctx, reg)
	site.Objects = countingObjects{site.Objects, c.counts}
	return site, err
}

type countingObjects struct {
	interruption.Objects
	counts *reads
}

func (c countingObjects) ReadNode(ctx context.Context, node model.Object) (model.Occupied, error) {
	c.counts.mutex.Lock()
	c.counts.alone[node.Name]++
	c.counts.mutex.Unlock()
	return c.Objects.ReadNode(ctx, node)
}

func (c countingObjects) ReadNodes(ctx context.Context, nodes []model.Object) (map[string]model.Occupied, error) {
	c.counts.together++
	all, err := c.Objects.ReadNodes(ctx, nodes)
	maps.DeleteFunc(all, func(_ string, o model.Occupied) bool { return o.Node.Name == c.counts.without })
	if c.counts.err != nil {
		return nil, c.counts.err
	}
	return all, err
}

// C1: the nodes of many drains are read together. Which of them cannot be read so is read by itself, and all are where none can.
func TestC1_NodesOfManyDrainsAreReadTogether(t *testing.T) {
	const claims = 24
	for what, c := range map[string]struct {
		without bool
		err     error
		alone   int
	}{"all": {}, "without one": {without: true, alone: 1}, "none": {err: errors.New("the list is too long"), alone: claims}} {
		w := rush(t, claims)
		w.Tick(5e9) // nobody waits for what pods need any more
		counts := &reads{alone: map[string]int{}, err: c.err}
		if c.without {
			counts.without = load(t, w).Claims[7].NodeName
		}
		var sum totals
		err := sum.drain(t, w, interruption.Request{}, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
			flow.Connector = counting{flow.Connector, counts}
		})
		if err != nil || sum.Evicted != claims {
			t.Errorf("%s: %d pods of %d were asked to leave: %v %v", what, sum.Evicted, claims, err, sum.errs)
		}
		if counts.together != 1 || len(counts.alone) != c.alone {
			t.Errorf("%s: nodes were read together %d times and alone %v", what, counts.together, counts.alone)
		}
	}
}

// Few drains read each node by itself, which is a request of its own for each and a list of everything for none.
func TestNodesOfFewDrainsAreReadOneByOne(t *testing.T) {
	const claims = 3
	w := rush(t, claims)
	w.Tick(5e9)
	counts := &reads{alone: map[string]int{}}
	var sum totals
	err := sum.drain(t, w, interruption.Request{}, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		flow.Connector = counting{flow.Connector, counts}
	})
	if err != nil || sum.Evicted != claims || counts.together != 0 || len(counts.alone) != claims {
		t.Errorf("%d pods of %d were asked to leave, nodes read together %d times and alone %v: %v", sum.Evicted, claims, counts.together, counts.alone, err)
	}
}
