package world

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// instances starts the kubelets of instances that EC2 began to run and ends those of instances that ended, as the log says: the
// kubelets of the cluster whose tags an instance carries, and those of the first one where nobody's does.
type instances struct {
	world *World
	seen  int64             // entries of the log
	homes map[string]*World // of instances that belong to other clusters than the first, by id
}

// home returns whose kubelets an instance is one of.
func (m *instances) home(id string) *World {
	if w := m.homes[id]; w != nil {
		return w
	}
	return m.world
}

func (m *instances) Next() (time.Time, bool) {
	at, due := m.world.Kubelets.Next()
	if fresh := m.world.Log.Since(m.seen); len(fresh) > 0 {
		return sooner(at, due, fresh[0].At)
	}
	return at, due
}

func (m *instances) Run(now time.Time) {
	for _, entry := range m.world.Log.Since(m.seen) {
		m.seen = entry.Seq
		switch fact := entry.Fact.(type) {
		case InstanceStarted:
			if w := m.world.account.worlds[fact.Cluster]; w != nil && w != m.world {
				if m.homes == nil {
					m.homes = map[string]*World{}
				}
				m.homes[fact.Instance.ID] = w
			}
			m.home(fact.Instance.ID).Kubelets.Start(fact.Instance, fact.UserData, entry.At)
		case InstanceStopped:
			m.home(fact.ID).Kubelets.Silence(fact.ID)
		case InstanceEnded:
			m.home(fact.ID).Kubelets.End(fact.ID)
		}
	}
	m.world.Kubelets.Run(now)
	for _, entry := range m.world.Log.Since(m.seen) { // what the kubelets did themselves
		m.seen = entry.Seq
	}
}

// room is what an instance of the type has, and what of it is for pods: the estimate itself, so that every plan that is right is
// tight.
func (w *World) room(name string) (capacity, allocatable model.Resources) {
	for _, info := range w.Catalog.instanceTypes {
		if info.Name == name {
			t := offering.Catalog([]model.InstanceTypeInfo{info}, Class("any"), offering.Settings{Region: catalog.Region})
			return t[0].Capacity, t[0].Allocatable()
		}
	}
	return nil, nil
}

// nodeConfig reads the labels and taints an instance's user data tells its kubelet to register with; nothing where it is
// not the document of an AL2023 instance.
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
