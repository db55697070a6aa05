package s3catalog

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

const bucket = "joiner-data"

var web = model.Registration{Cluster: "web", Account: "123456789012", Region: "us-west-2"}

// place is a store over our model of S3, under a clock that stands still.
type place struct {
	*Store
	cloud *cloud.Cloud
	clock *clock.Fake
	t     *testing.T
}

func start(t *testing.T) place {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	config := c.Config()
	config.RetryMaxAttempts = 2 // what is in the way of a write is gone by the second
	client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String(bucket),
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(c.Region())},
	}); err != nil {
		t.Fatal(err)
	}
	now := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return place{New(client, bucket, Settings{Now: now.Now}), c, now, t}
}

func (p place) Spoil(reg model.Registration) {
	p.t.Helper()
	key := keyOf(reg)
	if _, err := p.client.PutObject(p.t.Context(), &s3.PutObjectInput{Bucket: &p.bucket, Key: &key, Body: strings.NewReader("spoilt")}); err != nil {
		p.t.Fatal(err)
	}
}

func catalogOf(readUnix int64) model.InstanceCatalog {
	return model.InstanceCatalog{ReadUnix: readUnix, Version: "v", Types: []model.InstanceTypeInfo{{Name: "m5.large"}}}
}

func TestStoreKeepsTheContract(t *testing.T) {
	conform.Instances(t, func(t *testing.T) conform.InstancesPort { return start(t) })
}

// another is a store in the same bucket, as another function has it.
func (p place) another() *Store { return New(p.client, p.bucket, p.settings) }

// IT-16: what is in memory is believed for half a minute, then S3 says whether it changed and sends it only if it did.
func TestIT16ReadsAreKeptInMemoryAndConditional(t *testing.T) {
	p := start(t)
	if err := p.another().Write(t.Context(), web, catalogOf(1), ""); err != nil {
		t.Fatal(err)
	}
	gets := func() int64 { return p.cloud.CountOf("s3", "GetObject").Requests }
	instances := func() int64 {
		t.Helper()
		c, err := p.RegionCatalog(t.Context(), web)
		if err != nil {
			t.Fatal(err)
		}
		return c.ReadUnix
	}
	first := p.recall(web)
	instances()
	before := gets()
	if instances(); gets() != before {
		t.Errorf("%d more requests within half a minute", gets()-before)
	}
	kept := p.recall(web)
	if first.catalog != nil || kept.catalog == nil {
		t.Fatal("nothing is kept")
	}
	p.clock.Advance(31 * time.Second)
	if instances(); gets() != before+1 || p.recall(web).catalog != kept.catalog {
		t.Errorf("%d requests; the same object was decoded again", gets()-before)
	}
	other := p.another()
	_, revision, err := other.Read(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Write(t.Context(), web, catalogOf(2), revision); err != nil {
		t.Fatal(err)
	}
	p.clock.Advance(31 * time.Second)
	if got := instances(); got != 2 {
		t.Errorf("after it was replaced it is that of %d", got)
	}
}

func TestInstancesStayWhereS3CannotBeAsked(t *testing.T) {
	p := start(t)
	if err := p.Write(t.Context(), web, catalogOf(7), ""); err != nil {
		t.Fatal(err)
	}
	mend := p.cloud.Inject(cloud.Fault{Service: "s3", Err: wire.StatusErrorf(http.StatusServiceUnavailable, "SlowDown", "injected")})
	p.clock.Advance(time.Hour)
	if c, err := p.RegionCatalog(t.Context(), web); err != nil || c.ReadUnix != 7 {
		t.Errorf("%+v %v", c, err)
	}
	if _, _, err := p.Read(t.Context(), web); !fault.Is(err, fault.Throttled) {
		t.Errorf("who writes is told: %v", err)
	}
	if _, err := p.another().RegionCatalog(t.Context(), web); !fault.Is(err, fault.Throttled) {
		t.Errorf("with nothing in memory: %v", err)
	}
	mend.Remove()
}

func TestCatalogThatWasTakenAwayIsConflict(t *testing.T) {
	p := start(t)
	if err := p.Write(t.Context(), web, catalogOf(1), ""); err != nil {
		t.Fatal(err)
	}
	_, revision, err := p.Read(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	key := keyOf(web)
	if _, err := p.client.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &p.bucket, Key: &key}); err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), web, catalogOf(2), revision); !fault.Is(err, fault.Conflict) {
		t.Errorf("%v", err)
	}
	p.clock.Advance(time.Minute)
	if _, err := p.RegionCatalog(t.Context(), web); !fault.Is(err, fault.NotFound) {
		t.Errorf("%v", err)
	}
}

// D6: what was decided by a catalog can be decided once more when there is another.
func TestD6VersionsAreKept(t *testing.T) {
	p := start(t)
	one := model.InstanceCatalog{Version: "a", ReadUnix: 1, Types: []model.InstanceTypeInfo{{Name: "m5.large"}}}
	two := model.InstanceCatalog{Version: "b", ReadUnix: 2, Types: []model.InstanceTypeInfo{{Name: "m5.xlarge"}}}
	if err := p.Write(t.Context(), web, one, ""); err != nil {
		t.Fatal(err)
	}
	_, revision, err := p.Read(t.Context(), web)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context(), web, two, revision); err != nil {
		t.Fatal(err)
	}
	for _, want := range []model.InstanceCatalog{one, two} {
		got, err := p.ReadVersion(t.Context(), web.Account, web.Region, want.Version)
		if err != nil || got.Types[0].Name != want.Types[0].Name {
			t.Errorf("version %s: %+v, %v", want.Version, got, err)
		}
	}
	if _, err := p.ReadVersion(t.Context(), web.Account, web.Region, "c"); !fault.Is(err, fault.NotFound) {
		t.Errorf("nobody wrote it: %v", err)
	}
	// One that stays is kept anew each day, and not with each refresh.
	puts := p.cloud.Inject(cloud.Fault{Service: "s3", Match: func(r *http.Request, _ []byte) bool {
		return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/versions/")
	}})
	for range 2 {
		for range 3 {
			if _, revision, err = p.Read(t.Context(), web); err != nil {
				t.Fatal(err)
			}
			if err := p.Write(t.Context(), web, two, revision); err != nil {
				t.Fatal(err)
			}
		}
		p.clock.Advance(25 * time.Hour)
	}
	if puts.Acted() != 1 {
		t.Errorf("it was kept %d times in two days, want once beside the first time", puts.Acted())
	}
}

// A21: a write that another one is in the way of is repeated.
func TestA21ConflictingWriteOfACatalogIsRepeated(t *testing.T) {
	p := start(t)
	on := p.cloud.Inject(cloud.Fault{Service: "s3", Action: "PutObject", Times: 1, Err: wire.StatusErrorf(http.StatusConflict, "ConditionalRequestConflict", "another goes on")})
	if err := p.Write(t.Context(), web, model.InstanceCatalog{Version: "a"}, ""); err != nil || on.Acted() != 1 {
		t.Errorf("%v after %d conflicts", err, on.Acted())
	}
}
