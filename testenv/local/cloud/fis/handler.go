package fis

import (
	"encoding/json"
	"net/http"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Handler serves a Model on the wire protocol of FIS.
type Handler struct{ *wire.RESTJSON }

// NewHandler serves m.
func NewHandler(m *Model) *Handler {
	h := &Handler{wire.NewRESTJSON(&m.mu)}
	h.Handle("CreateExperimentTemplate", "POST /experimentTemplates", m.createTemplate)
	h.Handle("GetExperimentTemplate", "GET /experimentTemplates/{id}", m.getTemplate)
	h.Handle("DeleteExperimentTemplate", "DELETE /experimentTemplates/{id}", m.deleteTemplate)
	h.Handle("StartExperiment", "POST /experiments", m.startExperiment)
	h.Handle("GetExperiment", "GET /experiments/{id}", m.getExperiment)
	return h
}

// decode reads a request. A member that is not modeled is refused.
func decode(r *http.Request, in any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(in); err != nil {
		return invalid("request document: %v", err)
	}
	return nil
}

type templateView struct {
	ID          string            `json:"id"`
	ARN         string            `json:"arn"`
	Description string            `json:"description"`
	Role        string            `json:"roleArn"`
	Actions     map[string]action `json:"actions"`
	Targets     map[string]target `json:"targets"`
	Stops       []stopCondition   `json:"stopConditions"`
	Created     wire.Epoch        `json:"creationTime"`
	Updated     wire.Epoch        `json:"lastUpdateTime"`
	Tags        map[string]string `json:"tags"`
}

type templateOutput struct {
	Template templateView `json:"experimentTemplate"`
}

func (m *Model) viewTemplate(t *template) templateOutput {
	at := wire.Epoch{Time: t.created}
	return templateOutput{templateView{t.id, m.arn("experiment-template/" + t.id), t.description, t.role, t.actions, t.targets, t.stops, at, at, t.tags}}
}

func (m *Model) createTemplate(r *http.Request) (any, error) {
	var in struct {
		ClientToken    string            `json:"clientToken"`
		Description    string            `json:"description"`
		RoleARN        string            `json:"roleArn"`
		Actions        map[string]action `json:"actions"`
		Targets        map[string]target `json:"targets"`
		StopConditions []stopCondition   `json:"stopConditions"`
		Tags           map[string]string `json:"tags"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if id, made := m.tokens["template/"+in.ClientToken]; made && in.ClientToken != "" {
		if t := m.templates[id]; t != nil {
			return m.viewTemplate(t), nil
		}
	}
	t := &template{description: in.Description, role: in.RoleARN, actions: in.Actions, targets: in.Targets, stops: in.StopConditions, tags: in.Tags, created: m.options.Clock.Now()}
	if err := t.check(); err != nil {
		return nil, err
	}
	t.id = m.newID("EXT")
	m.templates[t.id], m.tokens["template/"+in.ClientToken] = t, t.id
	return m.viewTemplate(t), nil
}

func (m *Model) template(id string) (*template, error) {
	t := m.templates[id]
	if t == nil {
		return nil, wire.StatusErrorf(http.StatusNotFound, "ResourceNotFoundException", "Experiment template %s does not exist.", id)
	}
	return t, nil
}

func (m *Model) getTemplate(r *http.Request) (any, error) {
	t, err := m.template(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return m.viewTemplate(t), nil
}

func (m *Model) deleteTemplate(r *http.Request) (any, error) {
	t, err := m.template(r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	delete(m.templates, t.id)
	return m.viewTemplate(t), nil
}

type experimentView struct {
	ID         string            `json:"id"`
	ARN        string            `json:"arn"`
	TemplateID string            `json:"experimentTemplateId"`
	Role       string            `json:"roleArn"`
	State      stateView         `json:"state"`
	Targets    map[string]target `json:"targets"`
	Actions    map[string]action `json:"actions"`
	Stops      []stopCondition   `json:"stopConditions"`
	Started    wire.Epoch        `json:"startTime"`
	Created    wire.Epoch        `json:"creationTime"`
	Tags       map[string]string `json:"tags"`
}

type stateView struct {
	Status string `json:"status"`
}

type experimentOutput struct {
	Experiment experimentView `json:"experiment"`
}

func (m *Model) viewExperiment(e *experiment) experimentOutput {
	status, at := "completed", wire.Epoch{Time: e.started}
	if m.options.Clock.Now().Before(e.ended) {
		status = "running"
	}
	return experimentOutput{experimentView{e.id, m.arn("experiment/" + e.id), e.template.id, e.template.role, stateView{status}, e.template.targets, e.template.actions, e.template.stops, at, at, e.tags}}
}

// startExperiment runs a template. A target that is no spot instance fails the call, where FIS fails the experiment.
func (m *Model) startExperiment(r *http.Request) (any, error) {
	var in struct {
		ClientToken string            `json:"clientToken"`
		TemplateID  string            `json:"experimentTemplateId"`
		Tags        map[string]string `json:"tags"`
	}
	if err := decode(r, &in); err != nil {
		return nil, err
	}
	if id, made := m.tokens["experiment/"+in.ClientToken]; made && in.ClientToken != "" {
		return m.viewExperiment(m.experiments[id]), nil
	}
	t, err := m.template(in.TemplateID)
	if err != nil {
		return nil, err
	}
	e := &experiment{template: *t, tags: in.Tags}
	if err := m.start(e); err != nil {
		return nil, err
	}
	e.id = m.newID("EXP")
	m.experiments[e.id], m.tokens["experiment/"+in.ClientToken] = e, e.id
	return m.viewExperiment(e), nil
}

func (m *Model) getExperiment(r *http.Request) (any, error) {
	e := m.experiments[r.PathValue("id")]
	if e == nil {
		return nil, wire.StatusErrorf(http.StatusNotFound, "ResourceNotFoundException", "Experiment %s does not exist.", r.PathValue("id"))
	}
	return m.viewExperiment(e), nil
}
