package read

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/cmd/joiner/workload"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// maxProblems is how many mistakes are reported at once.
const maxProblems = 10

// maxNotes is of how many objects it is said what of them is left out.
const maxNotes = 3

// Options are what reading needs beside the files.
type Options struct {
	Stdin   io.Reader
	NowUnix int64 // when the snapshot is said to be taken
	// DefaultSpread is for pods that declare none, as kube-scheduler is configured to; nil = they are left alone.
	DefaultSpread []model.Spread
	// AsSeen takes pods that were stored in a cluster for what they show there: one that no scheduler has looked at does not wait for
	// capacity. False = all of them are taken for such that wait, as manifests are.
	AsSeen bool
	// Recursive reads the folders in folders too.
	Recursive bool
	// Kustomize is a folder or a URL that kustomize builds objects of, beside the paths; "" = none.
	Kustomize string

	flag string          // that names the paths, in mistakes; empty = -f
	only map[string]bool // kinds that may be there, by name; nil = any
}

// Cluster is what the files say.
type Cluster struct {
	Snapshot *model.Snapshot // nodes whose NodeClaim is being deleted bear the taint of nodes that are disrupted
	Claims   []model.Claim   // of the NodeClaims, by name
	Leaving  pack.Leaving    // nodes whose NodeClaim is being deleted, as package core/pack understands it
	Warnings []string        // of what was left out, a sentence each
	Objects  int             // that were read, of kinds that planning looks at
	Manifest []Manifest      // NodePools, EC2NodeClasses and NodeClaims that people make, in the order of the text
	Notes    []string        // what of an object has no effect, a sentence each; Warnings have the first few

	deleting map[string]int64 // NodeClaims somebody asked to delete, by name: by when no pod is left, Unix; 0 = nobody says
}

// Manifest is an object as it was written.
type Manifest struct {
	At               string // where it is
	APIVersion, Kind string
	Name             string
	Text             []byte // JSON
}

// Files reads every file that paths name: a file, a folder's files ending in .json, .yaml or .yml (those in its folders
// where options say so), or "-" for standard input. Manifests of workloads stand for the pods that they make. Of an object that is there twice the last one counts. The error has one line for each of the
// first ten mistakes.
func Files(paths []string, options Options) (*Cluster, error) {
	files, err := sources(cmp.Or(options.flag, "-f"), paths, options.Recursive)
	if err != nil {
		return nil, err
	}
	out := newWorkers()
	var broken error
	go func() {
		defer out.end()
		broken = cutAll(files, options.Stdin, out)
	}()
	c := newCollector(options)
	stopped := false
	for b := range out.ordered {
		if stopped {
			continue
		}
		<-b.done
		if c.take(b); len(c.problems) >= maxProblems {
			stopped = true
			close(out.stop)
		}
	}
	if broken != nil && !errors.Is(broken, errStopped) {
		c.problems = append(c.problems, broken)
	}
	if options.Kustomize != "" {
		if err := c.kustomized(options.Kustomize); err != nil {
			c.problems = append(c.problems, err)
		}
	}
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	return c.cluster(options), nil
}

// cutAll cuts every source. Reading of one that is broken ends there, and of all where nobody wants more.
func cutAll(files []source, stdin io.Reader, out *workers) error {
	for _, file := range files {
		text, done, err := file.open(stdin)
		if err == nil {
			err = (&splitter{out: out, source: file.name}).cut(text)
		}
		done()
		if err != nil {
			return err
		}
	}
	return nil
}

// collector puts together what was read.
type collector struct {
	builder  translate.Builder
	claims   []model.Claim
	left     map[kind]int // objects left out
	only     map[string]bool
	problems []error
	notes    []string // about objects, in their order
	objects  int
	manifest []Manifest
	storage  workload.Storage

	podEvents map[string]int64 // of NodeClaims: status.lastPodEventTime, by provider ID and by name of the node
	deleting  map[string]int64
	unread    map[string]kind // Deployments, which are looked at for CapacityBuffers only, by namespace/name
}

func newCollector(options Options) *collector {
	c := &collector{
		left: map[kind]int{}, only: options.only, podEvents: map[string]int64{}, deleting: map[string]int64{}, unread: map[string]kind{},
	}
	c.builder.AbsentConditionIsPending, c.builder.Headroom = true, true
	c.builder.DefaultSpread, c.builder.StoredAsSeen = options.DefaultSpread, options.AsSeen
	return c
}

func (c *collector) take(b *batch) {
	if b.problem != nil {
		c.problems = append(c.problems, b.problem)
	}
	for _, problem := range b.read.problems {
		if len(c.problems) < maxProblems {
			c.problems = append(c.problems, problem)
		}
	}
	if c.problems != nil {
		return // nothing will come of it
	}
	for _, object := range b.read.objects {
		if c.only != nil && !c.only[object.kind.name] {
			c.refuse(object)
			continue
		}
		if object.typed == nil {
			c.left[object.kind]++
			continue
		}
		c.builder.Add(object.typed)
		c.storage.See(object.typed)
		c.objects++
		if object.raw != nil {
			c.manifest = append(c.manifest, Manifest{object.at.String(), object.kind.apiVersion, object.kind.name,
				object.typed.GetName(), object.raw})
		}
		if object.note != "" {
			c.notes = append(c.notes, object.note)
		}
		if object.makes != nil {
			for _, pod := range object.makes.Pods {
				c.builder.Add(pod)
			}
			for _, claim := range object.makes.Claims {
				c.builder.Add(claim)
				c.storage.Want(claim)
			}
		} else if object.kind.name == "Deployment" {
			c.unread[object.typed.GetNamespace()+"/"+object.typed.GetName()] = object.kind
		}
		if claim, ok := object.typed.(*apiv1.NodeClaim); ok && translate.Managed(claim.Spec.NodeClassRef) {
			c.claim(claim)
		}
	}
}

// refuse complains about an object of a kind that has no business here.
func (c *collector) refuse(o object) {
	name := ""
	if o.typed != nil {
		name = o.typed.GetName()
	}
	kinds := strings.Join(slices.Sorted(maps.Keys(c.only)), " or ")
	c.problems = append(c.problems, &Problem{At: o.at, Kind: o.kind.name, Name: name, What: "not a " + kinds + "; include it with -f"})
}

// claim takes a NodeClaim with what the ledger would know of it.
func (c *collector) claim(object *apiv1.NodeClaim) {
	c.claims = append(c.claims, translate.Claim(object))
	delete(c.deleting, object.Name)
	if object.DeletionTimestamp != nil {
		c.deleting[object.Name] = deadline(object, &c.claims[len(c.claims)-1])
	}
	at := max(0, object.Status.LastPodEventTime.Unix())
	for _, key := range []string{object.Status.ProviderID, object.Status.NodeName} {
		if key != "" {
			c.podEvents[key] = at
		}
	}
}

func (c *collector) cluster(options Options) *Cluster {
	for _, class := range c.storage.Assumed() {
		c.builder.Add(class)
		c.notes = append(c.notes, workload.Assumption(class))
	}
	out := &Cluster{Snapshot: c.builder.Snapshot("", options.NowUnix), Claims: lastOfEach(c.claims), deleting: c.deleting,
		Objects: c.objects, Manifest: c.manifest, Notes: c.notes}
	out.markLeaving()
	for i := range out.Snapshot.Nodes {
		node := &out.Snapshot.Nodes[i]
		node.PodEventUnix = max(c.podEvents[node.Name], c.podEvents[node.ProviderID])
	}
	out.Warnings = append(out.Warnings, c.notes[:min(len(c.notes), maxNotes)]...)
	if more := len(c.notes) - maxNotes; more > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("and the same of %d more objects", more))
	}
	out.Warnings = append(out.Warnings, ofOtherProviders(out.Manifest)...)
	c.buffers(out)
	byName := func(a, b kind) int { return strings.Compare(a.String(), b.String()) }
	for _, k := range slices.SortedFunc(maps.Keys(c.left), byName) {
		out.Warnings = append(out.Warnings, leftOut(k, c.left[k]))
	}
	return out
}

// buffers adds the places of CapacityBuffers to the pods, and says which could not be made room for. Deployments that none is of are
// left out.
func (c *collector) buffers(out *Cluster) {
	for _, b := range headroom.LimitBuffers(out.Snapshot) {
		if name, is := strings.CutPrefix(b.Of, "Deployment "); is {
			delete(c.unread, b.Namespace+"/"+name)
		}
		if b.Problem != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("CapacityBuffer %s has no headroom: %s", b.Key(), b.Problem))
		}
	}
	for _, kind := range c.unread {
		c.left[kind]++
	}
	out.Snapshot = headroom.WithPlaceholders(out.Snapshot)
}

// lastOfEach sorts claims by name and keeps the last of those of one name.
func lastOfEach(claims []model.Claim) []model.Claim {
	slices.SortStableFunc(claims, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
	out := claims[:0]
	for i := range claims {
		if i+1 == len(claims) || claims[i].Name != claims[i+1].Name {
			out = append(out, claims[i])
		}
	}
	return out
}

// leftOut says which objects were left out and why.
func leftOut(k kind, n int) string {
	objects := fmt.Sprintf("%d objects of kind %s are", n, k)
	if n == 1 {
		objects = fmt.Sprintf("1 object of kind %s is", k)
	}
	why := "planning does not use the kind"
	version, other := otherVersion(k)
	switch {
	case k.name == "Deployment":
		why = "include the pods it creates"
	case other && version != k.apiVersion:
		why = fmt.Sprintf("the kind is read in version %s; convert it", version)
	}
	return objects + " left out: " + why
}

// ofOtherProviders says which NodePools name a class of another provider, such as EKS Auto Mode's: nothing is planned
// for them. There is a sentence for each of the first few.
func ofOtherProviders(manifests []Manifest) []string {
	var out []string
	for i := range manifests {
		m := &manifests[i]
		var pool apiv1.NodePool
		if m.Kind != apiv1.KindNodePool || json.Unmarshal(m.Text, &pool) != nil {
			continue // what cannot be decoded has an error of its own
		}
		ref := &pool.Spec.Template.Spec.NodeClassRef
		if ref.Kind == "" || translate.Managed(*ref) {
			continue
		}
		out = append(out, fmt.Sprintf("NodePool %s is left out: spec.template.spec.nodeClassRef names %s/%s %s, "+
			"a class of another provider; Joiner launches nodes of %s/%s", m.Name, ref.Group, ref.Kind, ref.Name,
			awsv1.GroupVersion.Group, awsv1.KindEC2NodeClass))
	}
	if more := len(out) - maxNotes; more > 0 {
		out = append(out[:maxNotes:maxNotes], fmt.Sprintf("and %d more NodePools of other providers", more))
	}
	return out
}

// Changes reads NodePools, EC2NodeClasses and NodeOverlays that are not applied yet, as Files does; a flag gives the
// paths. Anything else in them is an error, as is a NodePool or a NodeOverlay that an API server would refuse, and
// files that have none of them.
func Changes(flag string, paths []string, options Options) (pools []model.Pool, classes []model.Class,
	overlays []model.Overlay, err error) {
	options.flag = flag
	options.only = map[string]bool{apiv1.KindNodePool: true, awsv1.KindEC2NodeClass: true,
		v1alpha1.KindNodeOverlay: true}
	cluster, err := Files(paths, options)
	if err != nil {
		return nil, nil, nil, err
	}
	pools, classes, overlays = cluster.Snapshot.Pools, cluster.Snapshot.Classes, cluster.Snapshot.Overlays
	var problems []error
	for _, warning := range cluster.Warnings { // of another version
		problems = append(problems, fmt.Errorf("%s: %s", flag, warning))
	}
	for i := range pools {
		if len(pools[i].Invalid) > 0 {
			problems = append(problems, fmt.Errorf("%s: NodePool %s: %s", flag, pools[i].Name, strings.Join(pools[i].Invalid, "; ")))
		}
	}
	for i := range overlays {
		if len(overlays[i].Invalid) > 0 {
			problems = append(problems, fmt.Errorf("%s: NodeOverlay %s: %s", flag, overlays[i].Name,
				strings.Join(overlays[i].Invalid, "; ")))
		}
	}
	if len(pools)+len(classes)+len(overlays) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s %s: it has no NodePool, EC2NodeClass or NodeOverlay", flag,
			strings.Join(paths, ", ")))
	}
	return pools, classes, overlays, errors.Join(problems...)
}
