package forward

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// publication is a state on its way out. Its bytes are fixed: an attempt whose answer was lost may have stored them.
type publication struct {
	base   bool
	seq    int64
	data   []byte // nil until encoded
	what   any    // *model.Snapshot or *wire.Delta
	stored bool
	key    string    // of a base
	began  time.Time // when the state was as it says
}

// publishDue reports whether the state is to be published now, though nothing is on its way.
func (f *Forwarder) publishDue(now time.Time) bool {
	switch {
	case f.pointer.BaseKey == "":
		return true
	case f.owed != nil && f.owed.seq > f.head:
		return true
	case f.owed == nil && f.old(now):
		return true
	}
	return !f.dirtySince.IsZero() && !now.Before(f.dirtySince.Add(f.settings.IdleWindow))
}

// old reports whether the base has been there for long.
func (f *Forwarder) old(now time.Time) bool { return !now.Before(f.baseAt.Add(f.settings.MaxAge)) }

// begin fixes what is published next: a base where there is none, or where segments are many or it is old and nobody waits.
func (f *Forwarder) begin(now time.Time) {
	p := &publication{seq: f.head + 1, began: now}
	many := f.segments >= f.settings.MaxSegments || f.segmentBytes >= f.settings.MaxSegmentBytes || f.old(now)
	hurry := f.owed != nil && f.segments < 10*f.settings.MaxSegments
	if p.base = f.pointer.BaseKey == "" || f.whole || many && !hurry; p.base {
		s := f.state.snapshot()
		s.Cluster, s.Epoch, s.Seq, s.AtUnix = f.config.Cluster, f.epoch, p.seq, now.Unix()
		p.what = s
	} else {
		d := f.state.delta()
		d.Cluster, d.Epoch, d.Seq, d.AtUnix = f.config.Cluster, f.epoch, p.seq, now.Unix()
		p.what = d
	}
	f.dirtySince, f.whole = time.Time{}, false
	f.publishing = p
}

// publish carries what is on its way on from where it came to. Conflict where another replica leads.
func (f *Forwarder) publish(ctx context.Context) error {
	p := f.publishing
	if err := p.encode(); err != nil {
		f.giveUp()
		return err
	}
	if !p.stored {
		if err := f.store(ctx, p); err != nil {
			return err
		}
		p.stored = true
	}
	pointer := f.pointer
	pointer.HeadSeq = p.seq
	if p.base {
		pointer.BaseKey, pointer.BaseSeq = p.key, p.seq
	}
	if err := f.point(ctx, pointer, p.began); err != nil {
		return err
	}
	f.arrived(p)
	return nil
}

// giveUp takes back a publication that cannot be encoded. What it took of the changes is known to nobody any more, so the
// next one is a base.
func (f *Forwarder) giveUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publishing, f.whole, f.dirtySince = nil, true, f.config.Now()
}

func (p *publication) encode() (err error) {
	if p.data != nil {
		return nil
	}
	switch what := p.what.(type) {
	case *model.Snapshot:
		p.data, err = wire.EncodeBase(what)
	case *wire.Delta:
		p.data, err = wire.EncodeSegment(what)
	}
	if err == nil {
		p.what = nil // the rows need not be kept twice
	}
	return err
}

func (f *Forwarder) store(ctx context.Context, p *publication) (err error) {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	if p.base {
		p.key, err = f.config.Publisher.PutBase(ctx, f.config.Cluster, f.epoch, p.seq, p.data)
		return err
	}
	return f.config.Publisher.PutSegment(ctx, f.config.Cluster, f.epoch, p.seq, p.data)
}

// point moves the pointer to a state that was so at a time, which is a heartbeat of that time: where storing it took minutes, whoever goes
// by it must know that it is as old as that.
func (f *Forwarder) point(ctx context.Context, pointer model.Pointer, asOf time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	now := f.config.Now()
	pointer.WrittenUnix, pointer.HeartbeatAt = now.Unix(), asOf.Unix()
	lost, err := f.config.Pointer.AdvancePointer(ctx, pointer)
	if err != nil {
		return err
	}
	lost = lost && pointer.Epoch == f.pointer.Epoch && pointer.BaseSeq == f.pointer.BaseSeq // else it is of another base than this one
	f.pointer, f.beatAt = pointer, now
	f.renew(lost)
	return nil
}

func (f *Forwarder) arrived(p *publication) {
	f.head, f.publishing = p.seq, nil
	note := Note{What: "segment", Epoch: f.epoch, Seq: p.seq, Bytes: len(p.data), Waiting: f.Waiting()}
	if p.base {
		note.What = "base"
		f.segments, f.segmentBytes, f.baseAt = 0, 0, f.config.Now()
		f.keptAt = f.baseAt
	} else {
		f.segments++
		f.segmentBytes += len(p.data)
	}
	f.tell(note)
}

// keep publishes a base anew where the one that is published is gone: nobody could read the cluster's state until the next one is due, and
// nothing would be given back.
func (f *Forwarder) keep(ctx context.Context) {
	if f.publishing != nil || f.pointer.BaseKey == "" || f.config.Now().Before(f.nextKeep()) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	kept, err := f.config.Publisher.Kept(ctx, f.pointer.BaseKey)
	f.mu.Lock()
	f.keptAt = f.config.Now()
	if err == nil && !kept {
		f.whole, f.dirtySince = true, f.keptAt
		err = fault.New(fault.NotFound, "", "%s is gone, and is published anew", f.pointer.BaseKey)
	}
	f.mu.Unlock()
	if err != nil {
		f.problem("look for what was published", err)
	}
}

// nextKeep is when the base is looked for next.
func (f *Forwarder) nextKeep() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.keptAt.Add(f.keepEvery())
}

// keepEvery is how often the base is looked for: each eighth heartbeat. It is called with the lock held.
func (f *Forwarder) keepEvery() time.Duration { return 8 * f.beatEvery() }

// beat says that the watcher lives. It is left out while publishing fails: a watcher whose state reaches nobody is as
// good as dead, and the functions then list the cluster themselves.
func (f *Forwarder) beat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	now := f.config.Now()
	lost, err := f.config.Pointer.Heartbeat(ctx, f.config.Cluster, f.epoch, now.Unix())
	if err != nil {
		return err
	}
	f.beatAt = now
	f.renew(lost)
	return nil
}

// renew has the state published whole where somebody found that an object of what is published is gone: at most once in a while, whatever
// is said. Who is not heard for that is heard with the next sign of life, or says so again of the next pointer.
func (f *Forwarder) renew(lost bool) {
	f.mu.Lock()
	now := f.config.Now()
	lost = lost && (f.renewedAt.IsZero() || !now.Before(f.renewedAt.Add(f.settings.RenewEvery)))
	if lost {
		f.renewedAt, f.whole, f.dirtySince = now, true, now
	}
	f.mu.Unlock()
	if lost {
		f.problem("look for what was published", fault.New(fault.NotFound, "", "an object of snapshot %d/%d is gone, and the state is published whole",
			f.pointer.Epoch, f.pointer.HeadSeq))
	}
}
