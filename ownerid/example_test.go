package ownerid_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/rlock-go/rlock/ownerid"
)

// A goroutine that gets the caller's context is the caller, as far as locks go.
func Example_goroutineSharesTheOwner() {
	ctx := ownerid.NewContext(context.Background(), ownerid.New())
	caller, _ := ownerid.FromContext(ctx)

	owners := make(chan ownerid.ID)
	f := func(ctx context.Context) {
		id, _ := ownerid.FromContext(ctx)
		owners <- id
	}
	go f(ctx)
	fmt.Println("the caller:", <-owners == caller)
	go f(ownerid.NewContext(ctx, ownerid.New()))
	fmt.Println("the caller:", <-owners == caller)
	// Output:
	// the caller: true
	// the caller: false
}

// A server runs request after request on the goroutine of a connection. A middleware makes each request an owner of its
// own, which every lock below it then takes from the request's context.
func Example_ownerPerRequest() {
	perRequest := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(w, r.WithContext(ownerid.NewContext(r.Context(), ownerid.New())))
		})
	}

	var owners []ownerid.ID
	handler := perRequest(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, _ := ownerid.FromContext(r.Context())
		owners = append(owners, id)
	}))

	// Both on this one goroutine, like two requests on a connection that is kept alive.
	for range 2 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/settle", nil))
	}
	fmt.Println("same owner:", owners[0] == owners[1])
	// Output: same owner: false
}

// Workers that must exclude each other must not inherit one owner.
func ExampleWithout() {
	ctx := ownerid.NewContext(context.Background(), ownerid.New())

	carried := make(chan bool)
	for range 2 {
		go func(ctx context.Context) {
			_, ok := ownerid.FromContext(ctx) // none: each worker is whoever its goroutine is
			carried <- ok
		}(ownerid.Without(ctx))
	}
	fmt.Println("owner carried:", <-carried, <-carried)
	// Output: owner carried: false false
}

// A worker can also be given an owner by name, here that of the job it works on.
func ExampleParse() {
	id, err := ownerid.Parse("job-17")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := ownerid.NewContext(context.Background(), id)
	owner, _ := ownerid.FromContext(ctx)
	fmt.Println(owner)

	_, err = ownerid.Parse("job 17")
	fmt.Println(err)
	// Output:
	// job-17
	// ownerid: malformed owner: ' ' at byte 3 of "job 17"; only A-Z a-z 0-9 . _ - are allowed
}
