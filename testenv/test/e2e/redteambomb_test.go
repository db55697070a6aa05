package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// bomb is a snapshot that is made to use up a function's memory.
type bomb struct {
	name   string
	base   func(*testing.T, model.Snapshot) []byte // the snapshot is empty, with the head that the pointer asks for
	deltas func(*testing.T, wire.Delta) []byte     // what 200 segments after it hold, all the same; nil = there are none
	want   string                                  // what provision says of it; "" = it reads the snapshot
}

const bombDeltas = 200

// bombs are the attacks of W7.
func bombs() []bomb {
	small := func(t *testing.T, s model.Snapshot) []byte { return encoded(wire.EncodeSnapshot(&s))(t) }
	tolerations := func(n int) []model.PodShape { return []model.PodShape{{Tolerations: make([]model.Toleration, n)}} }
	return []bomb{
		{"3.3 million nodes", func(t *testing.T, s model.Snapshot) []byte {
			return packed(t, 'B', headOf(s)+`,"nodes":[`, counted(`{"name":"%07d"}`, 3_300_000), `]}`)
		}, nil, "has more than 20000 nodes"},
		{"the largest that provision reads", func(t *testing.T, s model.Snapshot) []byte {
			s.Shapes = tolerations(provisionMB << 20 / 8 / 150)
			return encoded(wire.EncodeSnapshot(&s))(t)
		}, nil, ""},
		{"12 million tolerations", func(t *testing.T, s model.Snapshot) []byte {
			return packed(t, 'B', headOf(s)+`,"shapes":[{"tolerations":[`, counted(`{}`, 12_000_000), `]}]}`)
		}, nil, "takes more than the 221 MiB of memory that this program has for one"},
		{"lists in lists", func(t *testing.T, s model.Snapshot) []byte {
			return packed(t, 'B', headOf(s)+`,"unknown":`, repeated("[", 30_000_000), repeated("]", 30_000_000), `}`)
		}, nil, "exceeded max depth"},
		{"a name of 60 MiB", func(t *testing.T, s model.Snapshot) []byte {
			return packed(t, 'B', headOf(s)+`,"nodes":[{"name":"`, repeated("n", 60<<20), `"}]}`)
		}, nil, ""},
		{"a GiB of blanks", func(t *testing.T, s model.Snapshot) []byte {
			return packed(t, 'B', headOf(s), repeated(" ", 1<<30), `}`)
		}, nil, fmt.Sprintf("has more than %d bytes unpacked", wire.MaxExpandedBytes)},
		{"a byte of noise too many", func(_ *testing.T, s model.Snapshot) []byte {
			noise := make([]byte, wire.MaxSnapshotBytes+1)
			draw := rand.NewChaCha8([32]byte{byte(s.Epoch)})
			_, _ = draw.Read(noise) // never fails
			return noise
		}, nil, fmt.Sprintf("has %d bytes, at most %d are read", wire.MaxSnapshotBytes+1, wire.MaxSnapshotBytes)},
		{"200 segments that no base may hold together", small, func(t *testing.T, d wire.Delta) []byte {
			d.Shapes = tolerations(300_000)
			return encoded(wire.EncodeDelta(&d))(t)
		}, "takes more than the"},
		{"200 segments of 12 million tolerations", small, func(t *testing.T, d wire.Delta) []byte {
			return packed(t, 'S', deltaHeadOf(d)+`,"shapes":[{"tolerations":[`, counted(`{}`, 12_000_000), `]}]}`)
		}, "takes more than the 221 MiB of memory that this program has for one"},
	}
}

// playBombs publishes each with the attacker's keys and hints at it, with a hint of the victim beside. It is refused by the bound that it
// passes, no function dies or needs more than the template gives it, the victim's pod gets its instance as in a calm moment, and prices go
// on being read while a bomb lies there.
func playBombs(t *testing.T, r *redteam) {
	v, attacker := r.victim, r.attacker.Options.Cluster
	all := bombs()
	for i, b := range all {
		began := time.Now()
		epoch := r.publish(t, b)
		runs := len(r.attackersRuns())
		done := r.ask(t)
		hint, err := wire.EncodeHint(wire.Hint{Cluster: attacker, Reason: wire.ReasonBatch, Epoch: epoch, Seq: 1, Number: int64(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.send(t.Context(), wire.PlanQueue(attacker), string(hint), attacker, fmt.Sprint("bomb-", i)); err != nil {
			t.Fatal(err)
		}
		done(t, b.name)
		var run provision.Outcome
		await(t, time.Minute, b.name+": provision refuses it by the bound, or reads it", func(context.Context) string {
			for _, run = range r.attackersRuns()[runs:] {
				said := strings.Join(run.Problems, "; ")
				if b.want != "" && run.Source == "list" && strings.Contains(said, b.want) || b.want == "" && run.Source == "snapshot" {
					return ""
				}
			}
			return fmt.Sprintf("the last run is by a %s and says %.500q, want %q", run.Source, run.Problems, b.want)
		})
		r.nobodyDied(t, b.name)
		t.Logf("%s: all of it took %s, the run %v ms: by a %s, %.300q", b.name, time.Since(began).Round(time.Millisecond), run.Millis, run.Source, run.Problems)
	}

	// The others that read snapshots, while the first of them lies there.
	r.publish(t, all[0])
	if _, err := v.Disrupt(t.Context()); err != nil {
		t.Error(err)
	}
	cache := s3catalog.New(s3.NewFromConfig(v.Cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true }), v.Bucket, s3catalog.Settings{})
	reg, err := v.Stack.Ledger.Cluster(t.Context(), v.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	catalog, revision, err := cache.Read(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	aged := time.Now().Add(-11 * time.Minute).Unix() // of spot prices, which are read each ten minutes where somebody may buy
	catalog.SpotUnix, catalog.TriedUnix = aged, 0
	if err := cache.Write(t.Context(), reg, catalog, revision); err != nil {
		t.Fatal(err)
	}
	await(t, time.Minute, "spot prices are read, which were due, while a bomb lies there", func(ctx context.Context) string {
		if err := v.resolve(ctx); err != nil {
			return err.Error()
		}
		catalog, _, err := cache.Read(ctx, reg)
		if err != nil || catalog.SpotUnix <= aged {
			return fmt.Sprintf("they are of %s, %v", time.Unix(catalog.SpotUnix, 0), err)
		}
		return ""
	})
	for _, function := range []string{"Catalog", "Disrupt"} {
		await(t, time.Minute, function+" says what it does not read", func(context.Context) string {
			for _, line := range v.Runtime.Logs(v.FunctionName(function)) {
				if strings.Contains(line.Text, attacker) && strings.Contains(line.Text, all[0].want) {
					return ""
				}
			}
			return "no line names the bound: " + all[0].want
		})
	}
	r.settle(t)
	r.nobodyDied(t, "at the end")
	for id, mb := range map[string]int{"Provision": provisionMB, "Disrupt": provisionMB, "Catalog": 1024} {
		_, peak := v.logs.used(v.FunctionName(id))
		t.Logf("%s: at most %d MB of %d", id, peak, mb)
		if fn, known := v.Runtime.Function(v.FunctionName(id)); !known || fn.MemoryMB != mb || peak*10 > mb*7 {
			t.Errorf("%s has %d MB of memory by its template and used %d MB", id, fn.MemoryMB, peak)
		}
	}
}

// nobodyDied fails where a function's process ended by itself, for its memory or for its time.
func (r *redteam) nobodyDied(t *testing.T, after string) {
	t.Helper()
	for _, exit := range r.victim.logs.exits() {
		if slices.Contains([]lambdaruntime.ExitReason{lambdaruntime.ExitCrashed, lambdaruntime.ExitOutOfMemory, lambdaruntime.ExitTimeout, lambdaruntime.ExitInitTimeout}, exit.Reason) {
			t.Errorf("%s: a function died: %+v", after, exit)
		}
	}
}

// publish stores a bomb with the attacker's keys, in an epoch of its own, points at it and returns the epoch.
func (r *redteam) publish(t *testing.T, b bomb) int64 {
	t.Helper()
	name := r.attacker.Options.Cluster
	table := dynamodb.NewFromConfig(r.keys)
	store := s3snapshot.New(s3.NewFromConfig(r.keys, func(o *s3.Options) { o.UsePathStyle = true }), r.victim.Bucket)
	epoch, err := dynamoledger.New(table, r.victim.Table).NextEpoch(t.Context(), name, "redteam")
	if err != nil {
		t.Fatal(err)
	}
	manifest := model.Manifest{Cluster: name, Epoch: epoch, SnapshotSeq: 1, HeadSeq: 1}
	if manifest.SnapshotKey, err = store.PutSnapshot(t.Context(), name, epoch, 1, b.base(t, model.Snapshot{Cluster: name, Epoch: epoch, Seq: 1})); err != nil {
		t.Fatal(err)
	}
	if b.deltas != nil {
		manifest.HeadSeq += bombDeltas
		data := b.deltas(t, wire.Delta{Cluster: name, Epoch: epoch, Seq: 2})
		for seq := int64(2); seq <= manifest.HeadSeq; seq++ {
			if err := store.PutDelta(t.Context(), name, epoch, seq, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.point(t, manifest)
	return epoch
}

// point moves the attacker's pointer with its keys, as of now.
func (r *redteam) point(t *testing.T, manifest model.Manifest) {
	t.Helper()
	manifest.WrittenUnix, manifest.HeartbeatAt = time.Now().Unix(), time.Now().Unix()
	doc, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	number := func(n int64) types.AttributeValue { return &types.AttributeValueMemberN{Value: fmt.Sprint(n)} }
	if _, err := dynamodb.NewFromConfig(r.keys).PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &r.victim.Table, Item: map[string]types.AttributeValue{
		"PK": &types.AttributeValueMemberS{Value: "C#" + r.attacker.Options.Cluster + "#W#"}, "SK": &types.AttributeValueMemberS{Value: "SNAP"},
		"doc": &types.AttributeValueMemberS{Value: string(doc)}, "epoch": number(manifest.Epoch), "headSeq": number(manifest.HeadSeq), "heartbeat": number(manifest.HeartbeatAt),
	}}); err != nil {
		t.Fatal(err)
	}
}

func encoded(data []byte, err error) func(*testing.T) []byte {
	return func(t *testing.T) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
}

func headOf(s model.Snapshot) string {
	return fmt.Sprintf(`{"cluster":%q,"epoch":%d,"seq":%d,"at":0`, s.Cluster, s.Epoch, s.Seq)
}

func deltaHeadOf(d wire.Delta) string {
	return fmt.Sprintf(`{"cluster":%q,"epoch":%d,"seq":%d,"firstShape":%d`, d.Cluster, d.Epoch, d.Seq, d.FirstShape)
}

// part is something that a head is written of: a text, or what writes a long one.
type part any

// counted writes an element so many times, with commas between.
func counted(element string, n int) func(io.Writer) {
	return func(w io.Writer) {
		var line []byte
		for i := range n {
			line = line[:0]
			if i > 0 {
				line = append(line, ',')
			}
			if strings.Contains(element, "%") {
				line = fmt.Appendf(line, element, i)
			} else {
				line = append(line, element...)
			}
			_, _ = w.Write(line) // into memory
		}
	}
}

// repeated writes a text so many times.
func repeated(text string, n int) func(io.Writer) {
	return func(w io.Writer) {
		const chunk = 1 << 20
		long := []byte(strings.Repeat(text, chunk))
		for left := n; left > 0; left -= chunk {
			_, _ = w.Write(long[:min(left, chunk)*len(text)])
		}
	}
}

// packed is a base or a segment as it is stored, whose head is written of the parts and which has no pods, without any of the
// limits of package wire.
func packed(t *testing.T, kind byte, parts ...part) []byte {
	t.Helper()
	write := func(w io.Writer) {
		for _, p := range parts {
			switch p := p.(type) {
			case string:
				_, _ = io.WriteString(w, p)
			case func(io.Writer):
				p(w)
			}
		}
	}
	var length countingWriter
	write(&length)
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	_, err = zip.Write(binary.AppendUvarint([]byte{'J', 'N', 'R', 0, 1, kind}, uint64(length)))
	write(zip)
	_, last := zip.Write([]byte{0})
	if err := errors.Join(err, last, zip.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// countingWriter counts bytes.
type countingWriter int64

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}
