package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// session is one invocation at work on one cluster, with what every phase needs.
type session struct {
	*work.Invocation
	flow     *Flow
	settings Settings
	request  Request
	reg      model.Registration
	clients  Clients
	ledger   model.Ledger
	config   model.Configuration
	records  map[string]model.ClassRecord // by class
	users    map[string][]string          // names of live claims, by class
	catalog  *model.InstanceCatalog       // nil = not read yet
	report   model.Report
	out      Outcome
}

// quota is what the pass may take of EC2's API.
func (r *session) quota() callQuota {
	return callQuota{
		port: r.flow.Allowances, rates: r.settings.Rates, reg: r.reg, now: r.NowUnix,
		spend: func(ctx context.Context, do func() error) error { return r.Effect(ctx, EffectSpend, do) },
	}
}

// granted takes calls of EC2's API. False where there are not as many: the next tick comes back. Where the allowance itself
// cannot be read or written the calls are made: they are few, and a class is waited for.
func (r *session) granted(ctx context.Context, take func(context.Context, int) (bool, error), calls int) bool {
	granted, err := take(ctx, calls)
	if err != nil {
		r.Problem("reserve EC2 API calls: %v", err)
	}
	return granted || err != nil
}

// answered notes where EC2 asked for fewer calls.
func (r *session) answered(ctx context.Context, err error) {
	if !fault.Is(err, fault.Throttled) {
		return
	}
	if err := r.quota().settle(ctx, true); err != nil {
		r.Problem("settle EC2 API calls: %v", err)
	}
}

// guarded keeps a panic over one class from stopping the others.
func (r *session) guarded(class string, do func()) {
	defer func() {
		if p := recover(); p != nil {
			r.Problem("EC2NodeClass %s: panic: %v", class, p)
		}
	}()
	do()
}

func (r *session) reportClass(class model.Class, status model.ClassStatus) {
	r.report.Classes = append(r.report.Classes, model.ClassReport{Class: class.Name, UID: class.UID, Status: offering.Refused(status, r.refusal(class))})
}

func (r *session) refusal(class model.Class) *model.ClassRefusal {
	return offering.Refusal(class, r.ledger.Notes.Refusals, r.NowUnix())
}

func (r *session) notReady(class model.Class, status model.ClassStatus) {
	if !ready(status) {
		r.out.NotReady = append(r.out.NotReady, class.Name)
	}
}

func stopped(status model.ClassStatus) bool {
	return slices.ContainsFunc(status.Problems, model.ClassProblem.Stops)
}

func ready(status model.ClassStatus) bool {
	return status.ResolvedUnix != 0 && !stopped(status)
}

// keep writes the record. Where another pass was faster its record is as good.
func (r *session) keep(ctx context.Context, record model.ClassRecord) {
	err := r.Effect(ctx, EffectRecord, func() (err error) {
		record, err = r.flow.Records.PutClass(ctx, r.reg.Cluster, record)
		return err
	})
	if err != nil {
		r.Problem("record EC2NodeClass %s: %v", record.Name, err)
		return
	}
	r.records[record.Name] = record
}

// forget drops records of classes that are no more.
func (r *session) forget(ctx context.Context) {
	there := map[string]bool{}
	for _, object := range r.config.Classes {
		there[object.Class.Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.records)) {
		if !there[name] {
			r.drop(ctx, name)
		}
	}
}

func (r *session) drop(ctx context.Context, class string) bool {
	record, known := r.records[class]
	if !known {
		return true
	}
	dropped := r.Try(ctx, EffectRecord, "delete the record of EC2NodeClass "+class, func() error {
		return r.flow.Records.DeleteClass(ctx, r.reg.Cluster, record)
	})
	if dropped {
		delete(r.records, class)
	}
	return dropped
}

// digest is equal for equal values.
func digest(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("EC2NodeClass cannot be encoded: %v", err)) // plain data always can
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:12])
}

func codeOr(err error, reason string) string {
	if code := fault.CodeOf(err); code != "" {
		return code
	}
	return reason
}

// types reads the instance catalog, once in a pass.
func (r *session) types(ctx context.Context) (*model.InstanceCatalog, error) {
	if r.catalog == nil {
		catalog, err := r.sharedTypes(ctx)
		if err != nil {
			catalog, err = r.clients.Catalog.InstanceTypes(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("read the catalog of %s: %w", r.reg.Region, err)
		}
		r.catalog = &catalog
	}
	return r.catalog, nil
}

// sharedFor is how old the instance types of the shared catalog may be before a cluster's pass reads EC2 itself.
const sharedFor = 25 * time.Hour

// sharedTypes returns the catalog the region pass keeps; NotFound where there is none that is young enough.
func (r *session) sharedTypes(ctx context.Context) (model.InstanceCatalog, error) {
	none := fault.New(fault.NotFound, "NoSharedCatalogue", "the catalog of instance types of %s is not stored, or too old", r.reg.Region)
	if r.flow.Catalogs == nil {
		return model.InstanceCatalog{}, none
	}
	catalog, _, err := r.flow.Catalogs.Read(ctx, r.reg)
	if err != nil {
		if !fault.Is(err, fault.NotFound) {
			r.Problem("read the catalog of instance types all clusters of %s share: %v", r.reg.Region, err)
		}
		return catalog, err
	}
	if r.Clock().Sub(time.Unix(catalog.ReadUnix, 0)) > sharedFor {
		return catalog, none
	}
	return catalog, nil
}

func (r *session) offeringSettings() offering.Settings {
	settings := r.settings.Offerings
	settings.Region, settings.NowUnix = cmp.Or(settings.Region, r.reg.Region), r.NowUnix()
	return settings
}
