package s3snapshot

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// The child of TestW7… reads what the parent serves and tells how much memory that took.
const (
	childEndpoint = "JOINER_TEST_ENDPOINT"
	childClusters = "JOINER_TEST_CLUSTERS" // those that are read side by side, then prod
)

func TestMain(m *testing.M) {
	if os.Getenv(childEndpoint) != "" {
		readSideBySide(os.Getenv(childEndpoint), strings.Split(os.Getenv(childClusters), ","))
		return
	}
	os.Exit(m.Run())
}

// reported is what the child tells.
type reported struct {
	Errors  map[string]string // by cluster; "" = its snapshot is held
	PeakMiB int64
}

func readSideBySide(endpoint string, clusters []string) {
	boot.TuneGC()
	client := s3.New(s3.Options{BaseEndpoint: &endpoint, UsePathStyle: true, Region: "us-west-2", Credentials: aws.AnonymousCredentials{}})
	store := New(client, bucket).Within(boot.MemoryBytes())
	out := reported{Errors: map[string]string{}}
	var held []*model.Snapshot
	var mu sync.Mutex
	read := func(cluster string) {
		snapshot, err := store.SnapshotAt(context.Background(), model.Manifest{Cluster: cluster, Epoch: 1, SnapshotSeq: 1, HeadSeq: 1, SnapshotKey: snapshotKey(cluster, 1, 1)})
		mu.Lock()
		defer mu.Unlock()
		held = append(held, snapshot)
		out.Errors[cluster] = boot.ErrorText(err)
	}
	var group sync.WaitGroup
	for _, cluster := range clusters {
		group.Go(func() { read(cluster) })
	}
	group.Wait()
	read("prod")
	runtime.KeepAlive(held)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	kib, err := strconv.ParseInt(string(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)[1]), 10, 64)
	if err != nil {
		panic(err)
	}
	out.PeakMiB = kib >> 10
	text, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

// child runs a process with the memory of a function that reads the clusters' full snapshots side by side, and then prod's.
func child(t *testing.T, memoryMB int, bases map[string][]byte, clusters ...string) reported {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cluster := strings.Split(strings.TrimPrefix(r.URL.Path, "/"+bucket+"/snap/"), "/")[0]
		w.Header().Set("Content-Length", strconv.Itoa(len(bases[cluster])))
		_, _ = w.Write(bases[cluster])
	}))
	defer server.Close()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), childEndpoint+"="+server.URL, childClusters+"="+strings.Join(clusters, ","),
		fmt.Sprintf("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=%d", memoryMB), "GOGC=", "GOMEMLIMIT=")
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("child: %v\n%s", err, text)
	}
	var out reported
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("child said %q: %v", text, err)
	}
	return out
}

// heavy returns full snapshots that fill a room of so many bytes as well as a full snapshot can, each another way.
func heavy(t *testing.T, room int) map[string][]byte {
	t.Helper()
	text := func(i int) string { return fmt.Sprintf("%07d", i) }
	labels := map[string]string{}
	for i := range room / 460 {
		labels[text(i)] = ""
	}
	pods := make([]model.Pod, min(wire.MaxPods, room/340))
	for i := range pods {
		pods[i] = model.Pod{Name: text(i), Phase: model.Running}
	}
	claims := make([]model.Pod, room/50_000)
	for i := range claims {
		claims[i] = model.Pod{Name: text(i), Claims: make([]string, 900)}
	}
	nodes := make([]model.Node, wire.MaxNodes)
	for i := range nodes {
		nodes[i] = model.Node{Name: text(i), Taints: make([]model.Taint, room/wire.MaxNodes/140)}
	}
	bases := map[string][]byte{}
	for cluster, s := range map[string]model.Snapshot{
		"labels": {Shapes: []model.PodShape{{Labels: labels}}}, "pods": {Shapes: make([]model.PodShape, 1), Pods: pods},
		"claims":      {Shapes: make([]model.PodShape, 1), Pods: claims},
		"tolerations": {Shapes: []model.PodShape{{Tolerations: make([]model.Toleration, room/150)}}},
		"taints":      {Nodes: nodes}, "prod": {Nodes: nodes[:3:3]},
	} {
		s.Cluster, s.Epoch, s.Seq = cluster, 1, 1
		if cluster == "prod" {
			s.Nodes = []model.Node{{Name: "a"}}
		}
		data, err := wire.EncodeSnapshot(&s)
		if err != nil {
			t.Fatalf("%s: %v", cluster, err)
		}
		bases[cluster] = data
	}
	return bases
}

// TestW7TheHeaviestSnapshotsLeaveAFunctionItsMemory measures a process that has as much memory as a function, by the kernel's word: it
// reads the heaviest full snapshots that are accepted, one and then all side by side, and another cluster's after them.
func TestW7TheHeaviestSnapshotsLeaveAFunctionItsMemory(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak is read from /proc")
	}
	for _, memoryMB := range []int{1024, 1769} {
		bases := heavy(t, memoryMB<<20/oneOf)
		all := []string{"labels", "pods", "claims", "tolerations", "taints"}
		for _, clusters := range [][]string{{"tolerations"}, all} {
			t.Run(fmt.Sprintf("%d MB/%s", memoryMB, strings.Join(clusters, " ")), func(t *testing.T) {
				out := child(t, memoryMB, bases, clusters...)
				refused := 0
				for cluster, text := range out.Errors {
					if text != "" {
						refused++
						if !strings.Contains(text, "NoRoom") || len(clusters) == 1 {
							t.Errorf("%s: %s", cluster, text)
						}
					}
				}
				if out.Errors["prod"] != "" {
					t.Errorf("the next cluster's snapshot: %s", out.Errors["prod"])
				}
				if refused == len(clusters) {
					t.Error("nobody's snapshot was read")
				}
				t.Logf("peak %d MiB of %d, %d of %d refused", out.PeakMiB, memoryMB, refused, len(clusters))
				if most := int64(memoryMB) * 6 / 10; out.PeakMiB > most && !raceDetector {
					t.Errorf("peak %d MiB, want at most %d", out.PeakMiB, most)
				}
			})
		}
	}
}

// TestW7ASnapshotBombIsRefusedByNameAndBound is what the review sent: 3.3 million nodes in 8 MB.
func TestW7ASnapshotBombIsRefusedByNameAndBound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the peak is read from /proc")
	}
	bases := heavy(t, 1<<20)
	bases["nodes"] = bomb(t, "nodes", `"nodes":[`, `{"name":"%07d"}`, 3_300_000)
	bases["spreads"] = bomb(t, "spreads", `"shapes":[{"tolerations":[`, `{}`, 12_000_000)
	out := child(t, 1769, bases, "nodes", "spreads")
	for cluster, want := range map[string]string{"nodes": "/base-00000000000000000001 has more than 20000 nodes", "spreads": "takes more than the 221 MiB", "prod": ""} {
		if text := out.Errors[cluster]; !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%s: %q, want %q", cluster, text, want)
		}
	}
	t.Logf("peak %d MiB", out.PeakMiB)
	if out.PeakMiB > 500 {
		t.Errorf("refusing two bombs took %d MiB", out.PeakMiB)
	}
}

// TestW7DeltasTogetherWeighNoMoreThanASnapshot: each is within its bounds.
func TestW7DeltasTogetherWeighNoMoreThanASnapshot(t *testing.T) {
	_, store := start(t)
	store.Within(64 << 20) // 8 MiB for one
	h := newHistory(t, store, 1)
	key := h.full()
	const deltas = 12
	for seq := range int64(deltas) {
		d := &wire.Delta{Cluster: "prod", Epoch: 1, Seq: seq + 1, FirstShape: int(seq) + 1, Shapes: []model.PodShape{{Tolerations: make([]model.Toleration, 10_000)}}}
		data, err := wire.EncodeDelta(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := store.PutDelta(t.Context(), "prod", 1, d.Seq, data); err != nil {
			t.Fatal(err)
		}
	}
	at := func(head int64) error {
		_, err := store.SnapshotAt(t.Context(), model.Manifest{Cluster: "prod", Epoch: 1, HeadSeq: head, SnapshotKey: key})
		return err
	}
	if err := at(3); err != nil {
		t.Errorf("three segments: %v", err)
	}
	if err := at(deltas); fault.CodeOf(err) != "TooLarge" || !strings.Contains(err.Error(), "/seg-") {
		t.Errorf("%d segments: %v", deltas, err)
	}
	if err := New(store.Snapshots.client, bucket).Within(64<<20).at(t, key, deltas); fault.CodeOf(err) != "TooLarge" {
		t.Errorf("%d segments at once: %v", deltas, err)
	}
	if err := New(store.Snapshots.client, bucket).at(t, key, deltas); err != nil {
		t.Errorf("without bounds: %v", err)
	}
}

// TestW7DeltasAreReadUntilOneCannotBe: a manifest may say that there are 10,000. Each of these takes a while to unpack.
func TestW7DeltasAreReadUntilOneCannotBe(t *testing.T) {
	full, err := wire.EncodeSnapshot(&model.Snapshot{Cluster: "prod", Epoch: 1, Seq: 1})
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/seg-") {
			asked.Add(1)
			_, _ = w.Write([]byte("no segment"))
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(full)))
		_, _ = w.Write(full)
	}))
	defer server.Close()
	store := New(s3.New(s3.Options{BaseEndpoint: &server.URL, UsePathStyle: true, Region: "us-west-2", Credentials: aws.AnonymousCredentials{}}), bucket)
	manifest := model.Manifest{Cluster: "prod", Epoch: 1, SnapshotSeq: 1, HeadSeq: maxDeltas, SnapshotKey: snapshotKey("prod", 1, 1)}
	if _, err := store.SnapshotAt(t.Context(), manifest); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "/seg-") {
		t.Errorf("got %v", err)
	}
	if n := asked.Load(); n < 1 || n > 2*fetchers {
		t.Errorf("%d segments were asked for", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.advance(ctx, &model.Snapshot{Cluster: "prod", Epoch: 1, Seq: 1}, manifest); !errors.Is(err, context.Canceled) {
		t.Errorf("where the time is over: %v", err)
	}
}

func (s *Store) at(t *testing.T, key string, head int64) error {
	_, err := s.SnapshotAt(t.Context(), model.Manifest{Cluster: "prod", Epoch: 1, HeadSeq: head, SnapshotKey: key})
	return err
}

// bomb is a full snapshot with a head written by hand, so many elements in its list.
func bomb(t *testing.T, cluster, open, element string, n int) []byte {
	t.Helper()
	head := []byte(`{"cluster":"` + cluster + `","epoch":1,"seq":1,"at":0,` + open)
	for i := range n {
		if i > 0 {
			head = append(head, ',')
		}
		if strings.Contains(element, "%") {
			head = fmt.Appendf(head, element, i)
		} else {
			head = append(head, element...)
		}
	}
	head = append(head, strings.Repeat("}", strings.Count(open, "{"))...)
	if strings.Count(open, "{") == 0 {
		head = append(head, "]}"...)
	} else {
		head = append(head[:len(head)-1], "]}]}"...)
	}
	plain := binary.AppendUvarint([]byte("JNR\x00\x01B"), uint64(len(head)))
	plain = append(append(plain, head...), 0)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	_, err := zip.Write(plain)
	if err := errors.Join(err, zip.Close()); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}
