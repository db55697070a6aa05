package world

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/cloud/catalog"
)

// boot lets machines join whose time has come, and makes nodes ready that joined long enough ago.
func (w *World) boot() {
	now := w.Clock.Now()
	w.Fleet.mu.Lock()
	var due []*Machine
	for _, m := range w.Fleet.machines {
		if !m.Joined && !m.Terminated && now.Sub(m.LaunchedAt) >= w.options.Boot {
			m.Joined, m.State = true, "running"
			due = append(due, m)
		}
	}
	w.Fleet.mu.Unlock()
	for _, m := range due {
		w.join(m)
	}
	for _, node := range w.Cluster.Nodes() {
		if !node.Ready && node.DeletedUnix == 0 && now.Unix()-node.CreatedUnix >= int64(w.options.Ready.Seconds()) {
			w.Cluster.becomeReady(node.Name)
		}
	}
}

// join makes the node a kubelet and the cloud provider would make.
func (w *World) join(m *Machine) {
	t, _ := catalog.Lookup(m.Type)
	name := strings.Replace(m.ID, "i-", "ip-", 1) + ".world.internal"
	labels := map[string]string{
		model.LabelHostname: name, model.LabelInstanceType: m.Type, model.LabelZone: m.Zone, model.LabelRegion: catalog.Region,
		model.LabelArch: goArch(t.Architecture), model.LabelOS: "linux",
	}
	ordered, taints := nodeConfig(m.UserData)
	allocatable := w.allocatable(m.Type)
	w.Cluster.PutNode(model.Node{
		Name: name, ProviderID: "aws:///" + m.Zone + "/" + m.ID, Labels: union(labels, ordered), Capacity: allocatable, Allocatable: allocatable,
		Taints: append(taints, model.Taint{Key: "node.kubernetes.io/not-ready", Effect: model.NoSchedule}),
	})
}

func (c *Cluster) becomeReady(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	node := clone(*c.nodes[name])
	node.Ready, node.ReadyUnix = true, c.now().Unix()
	kept := node.Taints[:0]
	for _, taint := range node.Taints {
		if taint.Key != "node.kubernetes.io/not-ready" {
			kept = append(kept, taint)
		}
	}
	node.Taints = kept
	c.nodes[name] = &node
}

// allocatable is what a machine of the type has for pods: the estimate itself, so that every plan that is right is tight.
func (w *World) allocatable(name string) model.Resources {
	for _, machine := range w.Catalog.machines() {
		if machine.Name == name {
			t := offer.Catalog([]model.MachineType{machine}, Class("any"), offer.Settings{Region: catalog.Region})
			return t[0].Allocatable()
		}
	}
	return nil
}

// nodeConfig reads the labels and taints a machine's user data tells its kubelet to register with; nothing where it is
// not the document of an AL2023 machine.
func nodeConfig(userData []byte) (labels map[string]string, taints []model.Taint) {
	message, err := mail.ReadMessage(bytes.NewReader(userData))
	if err != nil {
		return nil, nil
	}
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		return nil, nil
	}
	var config struct {
		Spec struct {
			Kubelet struct {
				Config struct {
					RegisterWithTaints []model.Taint `json:"registerWithTaints"`
				} `json:"config"`
				Flags []string `json:"flags"`
			} `json:"kubelet"`
		} `json:"spec"`
	}
	parts := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		if body, err := io.ReadAll(part); err == nil && strings.HasPrefix(part.Header.Get("Content-Type"), "application/node.eks.aws") {
			_ = json.Unmarshal(body, &config) // a document that is no JSON says nothing to this machine
		}
	}
	labels = map[string]string{}
	for _, flag := range config.Spec.Kubelet.Flags {
		list, _ := strings.CutPrefix(flag, "--node-labels=")
		for _, pair := range strings.Split(list, ",") {
			if key, value, ok := strings.Cut(pair, "="); ok {
				labels[key] = value
			}
		}
	}
	return labels, config.Spec.Kubelet.Config.RegisterWithTaints
}

func goArch(arch string) string {
	if arch == catalog.ARM64 {
		return "arm64"
	}
	return "amd64"
}
